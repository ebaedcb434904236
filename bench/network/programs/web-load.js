// Asks a page again and again until its input ends: node web-load.js URL. Half of the clients keep their connections,
// the others make a new one for each request. Then it writes how many were asked for and failed, as JSON.
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

const [url] = process.argv.slice(2);
const clientsEach = 4;
/** Between two requests of a client. */
const pauseMs = 5;
const patienceMs = 5_000;
const kept = new Agent({ keepAlive: true, maxSockets: clientsEach });
const fresh = new Agent({ keepAlive: false });
const counts = { kept: 0, fresh: 0, failed: 0, errors: {} };
let runs = true;

const ask = (agent) =>
  new Promise((resolve) => {
    const fail = (error) => resolve(error.code ?? error.message);
    const sent = request(url, { agent, timeout: patienceMs }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode === 200 ? undefined : `status ${response.statusCode}`));
      response.on('error', fail);
    });
    sent.on('timeout', () => sent.destroy(new Error('no answer')));
    sent.on('error', fail);
    sent.end();
  });

async function client(name, agent) {
  while (runs) {
    const error = await ask(agent);
    counts[name]++;
    if (error !== undefined) {
      counts.failed++;
      counts.errors[`${name}: ${error}`] = (counts.errors[`${name}: ${error}`] ?? 0) + 1;
    }
    await delay(pauseMs);
  }
}

process.stdin.resume().on('end', () => {
  runs = false;
});
const all = (name, agent) => Array.from({ length: clientsEach }, () => client(name, agent));
await Promise.all([...all('kept', kept), ...all('fresh', fresh)]);
process.stdout.write(`${JSON.stringify(counts)}\n`);
process.exit(0);
