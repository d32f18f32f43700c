// Sends requests over one connection, each with a body in two writes, and prints how many were answered
// with the expected status. Arguments: PORT STATUS COUNT.
const http = require("http");

const [port, status, count] = process.argv.slice(2).map(Number);
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
let answered = 0;

function send() {
  return new Promise((done) => {
    const options = { port, agent, method: "POST", path: "/", headers: { "Content-Length": 10 } };
    const request = http.request(options, (response) => {
      answered += response.statusCode === status;
      response.resume().on("end", done).on("error", done);
    });
    request.on("error", (error) => { console.error(error.message); done(); });
    request.write("01234");
    setImmediate(() => request.end("56789"));
  });
}

(async () => {
  for (let index = 0; index < count; index += 1) await send();
  console.log(answered);
  process.exit();
})();
