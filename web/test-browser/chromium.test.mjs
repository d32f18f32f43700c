import { chromium } from "./support/suite.mjs";

chromium();
