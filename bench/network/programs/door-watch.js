// Tells when an address begins to take connections, and when it ends: node door-watch.js HOST PORT. One line for each
// change, "open NANOSECONDS" or "shut NANOSECONDS", by the clock that all processes of the machine share.
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const [host, port] = process.argv.slice(2);
/** Between two looks. */
const periodMs = 1;
/** What is dropped is no answer. */
const patienceMs = 100;

const isOpen = () =>
  new Promise((resolve) => {
    const socket = connect({ host, port: Number(port) });
    const finish = (open) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(open);
    };
    const timer = setTimeout(finish, patienceMs, false);
    socket.on('connect', () => finish(true));
    socket.on('error', () => finish(false));
  });

let was;
for (;;) {
  const now = await isOpen();
  if (now !== was) process.stdout.write(`${now ? 'open' : 'shut'} ${process.hrtime.bigint()}\n`);
  was = now;
  await delay(periodMs);
}
