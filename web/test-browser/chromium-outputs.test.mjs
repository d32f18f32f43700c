import { part } from "./support/suite.mjs";

part("chromium-outputs");
