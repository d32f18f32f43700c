import { render } from "preact";
import { followTheme } from "../views/theme";
import { App } from "./App";
import { followAddress } from "./pages";
import "../styles/base.css";
import "../styles/frame.css";
import "../styles/admin/admin.css";
import "../styles/admin/route.css";
import "../styles/admin/table.css";
import "../styles/admin/profile.css";
import "../styles/admin/capture.css";
import "../styles/admin/log.css";

followTheme();
addEventListener("popstate", followAddress);
followAddress();
render(<App />, document.getElementById("app")!);
