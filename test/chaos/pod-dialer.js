// Dials from the network namespace of a pod (pod-dialer.ts). Each line of standard input is JSON,
// { targets, connectWithinMs }: all of "ADDRESS:PORT" are dialled at once, and an array of those that answered an HTTP
// request comes back.
import { connect } from 'node:net';
import { createInterface } from 'node:readline';

// Without a packet lost: a server that is slow to start a process is no closed door.
const answerWithinMs = 30_000;

function answers(target, connectWithinMs) {
  const [host, port] = target.split(':');
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port) });
    const end = (isOpen) => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.setTimeout(connectWithinMs, () => end(false));
    socket.on('error', () => end(false));
    socket.on('connect', () => {
      socket.setTimeout(answerWithinMs);
      socket.write('GET /index.html HTTP/1.0\r\n\r\n');
    });
    socket.once('data', () => end(true));
  });
}

for await (const line of createInterface({ input: process.stdin })) {
  const { targets, connectWithinMs } = JSON.parse(line);
  const open = await Promise.all(targets.map((target) => answers(target, connectWithinMs)));
  process.stdout.write(`${JSON.stringify(targets.filter((_, at) => open[at]))}\n`);
}
