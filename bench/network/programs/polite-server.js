// A web server that ends as a good program does, without a preStop hook: node polite-server.js PORT. At SIGTERM it
// closes its listener at once, answers what comes over connections that are open, tells these to close, and ends when
// none is left, or after five seconds.
import { createServer } from 'node:http';
import { Server } from 'node:net';

const [port] = process.argv.slice(2);
let ends = false;

const server = createServer((_, response) => {
  if (ends) response.setHeader('Connection', 'close');
  response.end('here\n');
});
server.keepAliveTimeout = 60_000;
server.listen({ port: Number(port), host: '0.0.0.0' });
process.on('SIGTERM', () => {
  ends = true;
  // Of http it would end connections that are idle, whatever is under way to them.
  Server.prototype.close.call(server, () => process.exit(0));
  setTimeout(() => process.exit(0), 5_000);
});
