import { firefox } from "./support/suite.mjs";

firefox();
