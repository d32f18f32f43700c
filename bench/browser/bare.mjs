// The peer of Weir's page: the simplest page that sends a file over a WebSocket, and a server that
// acknowledges.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { createInterface } from "node:readline";

/** The program `acknowledge` of bench/contenders. */
export class Acknowledger {
  static async start(program) {
    const acknowledger = new Acknowledger();
    acknowledger.child = spawn(program, [], { stdio: ["ignore", "pipe", "inherit"] });
    acknowledger.orphan = () => acknowledger.child.kill();
    process.once("exit", acknowledger.orphan);
    const [url] = await once(createInterface({ input: acknowledger.child.stdout }), "line");
    acknowledger.url = url;
    return acknowledger;
  }

  end() {
    process.removeListener("exit", this.orphan);
    this.child.kill();
  }
}

/** Sends Blobs of 1 MiB, each after the answer to the one before. */
const PAGE = `<!doctype html>
<title>bare</title>
<input type="file" disabled>
<script>
  const MIB = 1 << 20;
  const input = document.querySelector("input");
  const socket = new WebSocket("SOCKET");
  socket.onopen = () => { input.disabled = false; };
  input.onchange = () => {
    const [file] = input.files;
    const start = performance.now();
    let sent = 0;
    let acknowledged = 0;
    const next = () => {
      socket.send(file.slice(sent, sent + MIB));
      sent += MIB;
    };
    socket.onmessage = ({ data }) => {
      acknowledged += Number(data);
      if (sent < file.size) next();
      else window.timed = { seconds: (performance.now() - start) / 1e3, acknowledged };
    };
    next();
  };
</script>
`;

/** Serves that page, which connects to `socket`. */
export async function serveBarePage(socket) {
  const server = createServer((request, response) => {
    response.setHeader("content-type", "text/html");
    response.end(PAGE.replace("SOCKET", socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    end: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
