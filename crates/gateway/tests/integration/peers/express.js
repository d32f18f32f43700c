// Handlers by path in Express, with its default settings. The folder of the package is the argument.
const express = require(`${process.argv[2]}/node_modules/express`);

const app = express();
const answer = (name) => (_, response) => response.type("text").send(`handler ${name}\n`);
for (const name of ["admin/users", "admin", "api/v1", "api", "public"]) {
  app.use(`/${name}`, answer(name));
}
app.use(answer("other"));
const server = app.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.resume().on("end", () => process.exit());
