import { part } from "./support/suite.mjs";

part("firefox-small");
