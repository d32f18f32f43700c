import { chromiumLarge } from "./support/suite.mjs";

chromiumLarge();
