// An administrator who goes on asking a server (target.ts), in a process of its own: how long an attacker's process
// takes to send megabytes is no wait for the server. Arguments: the server's address, its data directory, the path of a
// method, its message in base64. Each line of standard input begins to ask, or ends it; at the end of each of these
// comes a line of JSON, the times that the questions took, in milliseconds.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:http2';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

/** Between two questions. */
const pauseMs = 50;
const patienceMs = 120_000;

const [address, dataDir, path, message] = process.argv.slice(2);
const read = (file) => readFileSync(join(dataDir, 'pki', file), 'utf8');
const access = { ca: read('ca.crt'), cert: read('admin.crt'), key: read('admin.key') };
let session;

/** Throws when there is no answer, or an error. */
async function ask() {
  const since = performance.now();
  // Its error is that of the question.
  if (session === undefined || session.closed || session.destroyed)
    session = connect(`https://${address}`, access).on('error', () => {});
  const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' };
  const stream = session.request(headers);
  stream.setTimeout(patienceMs, () => stream.destroy(new Error(`no answer within ${patienceMs / 1_000} s`)));
  let status;
  const noted = (fields) => {
    status ??= fields['grpc-status'];
  };
  stream.on('response', noted).on('trailers', noted).resume();
  stream.end(Buffer.from(message, 'base64'));
  await once(stream, 'close');
  if (status !== '0') throw new Error(`the administrator was answered with the status ${status}`);
  return performance.now() - since;
}

let asks = false;
async function askOn() {
  const times = [];
  while (asks) {
    times.push(await ask());
    await delay(pauseMs);
  }
  return times;
}

await ask();
process.stdout.write('[]\n');
let asking;
for await (const _ of createInterface({ input: process.stdin })) {
  asks = !asks;
  if (asks) asking = askOn();
  else process.stdout.write(`${JSON.stringify(await asking)}\n`);
}
session.destroy();
