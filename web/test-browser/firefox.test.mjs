import { suite } from "./support/suite.mjs";

suite("firefox");
