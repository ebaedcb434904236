// A program that serves and dials in a network namespace of its own (service-network.ts). One JSON object per line each
// way: { id, op, ... } in, { id, ... } out.
import { createSocket } from 'node:dgram';
import { connect, createServer } from 'node:net';
import { createInterface } from 'node:readline';

const held = new Map();
const servers = new Map();
let load;

const failure = (error) => ({ error: error.code ?? error.message });

/** Answers each connection and datagram with its name and the address that it sees, and each line with both. */
async function serve({ name, tcp, udp, address = '0.0.0.0' }) {
  if (tcp) {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.write(`${name} ${socket.remoteAddress}\n`);
      socket.on('data', (data) => socket.write(`${name}:${data}`));
    });
    servers.set(name, server);
    await new Promise((resolve, reject) =>
      server.on('error', reject).listen({ port: tcp, host: address, backlog: 4096 }, resolve),
    );
  }
  if (udp) {
    const socket = createSocket('udp4');
    socket.on('message', (_, from) => socket.send(`${name} ${from.address}`, from.port, from.address));
    await new Promise((resolve) => socket.bind(udp, address, resolve));
  }
  return {};
}

/** Listens no more. */
async function leave({ name }) {
  servers.get(name).close();
  return {};
}

/** The first line that the server says, and how long the handshake took in microseconds. */
function dial({ host, port, ms = 3000, keep = false }) {
  return new Promise((resolve) => {
    const beganAt = process.hrtime.bigint();
    let us = 0;
    const socket = connect({ host, port });
    const finish = (result) => {
      clearTimeout(timer);
      if (!keep) socket.destroy();
      resolve({ ...result, ms: Number(process.hrtime.bigint() - beganAt) / 1e6, us });
    };
    const timer = setTimeout(() => finish({ error: 'TIMEOUT' }), ms);
    socket.on('connect', () => {
      us = Number(process.hrtime.bigint() - beganAt) / 1e3;
    });
    socket.once('data', (data) => finish({ text: data.toString().trim() }));
    socket.on('error', (error) => finish(failure(error)));
    if (keep) held.set(keep, socket);
  });
}

function say({ keep, text, ms = 3000 }) {
  const socket = held.get(keep);
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve({ error: 'TIMEOUT' }), ms);
    socket.once('data', (data) => {
      clearTimeout(timer);
      resolve({ text: data.toString().trim() });
    });
    socket.write(`${text}\n`);
  });
}

/** One datagram from a port (any by default), and the answer. */
function ask({ host, port, from = 0, ms = 1000 }) {
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    const finish = (result) => {
      clearTimeout(timer);
      socket.close(() => resolve(result));
    };
    const timer = setTimeout(() => finish({ error: 'TIMEOUT' }), ms);
    socket.once('message', (data) => finish({ text: data.toString() }));
    socket.once('error', (error) => finish(failure(error)));
    // Only a connected socket is told of refusals.
    socket.bind(from, () => socket.connect(port, host, () => socket.send('x')));
  });
}

/** Connects again and again until `stop`; counts answers by server, and errors. */
function start({ host, port, parallel = 4 }) {
  load = { running: true, answers: {}, errors: {}, done: undefined };
  const counts = load;
  const count = (of, key) => {
    of[key] = (of[key] ?? 0) + 1;
  };
  const loop = async () => {
    while (counts.running) {
      const { text, error } = await dial({ host, port });
      if (error) count(counts.errors, error);
      else count(counts.answers, text.split(' ')[0]);
    }
  };
  counts.done = Promise.all(Array.from({ length: parallel }, loop));
  return {};
}

async function stop() {
  load.running = false;
  await load.done;
  return { answers: load.answers, errors: load.errors };
}

/** Handshakes one after the other to each target in turn, so that what else the machine does falls on all alike. */
async function compare({ targets, rounds }) {
  const us = targets.map(() => []);
  for (let round = 0; round < rounds; round++) {
    for (const [at, target] of targets.entries()) us[at].push((await dial(target)).us);
  }
  return { us };
}

const operations = { serve, leave, dial, say, ask, start, stop, compare };
for await (const line of createInterface({ input: process.stdin })) {
  const { id, op, ...request } = JSON.parse(line);
  Promise.resolve(operations[op](request))
    .catch(failure)
    .then((result) => process.stdout.write(`${JSON.stringify({ id, ...result })}\n`));
}
process.exit(0);
