// Reads what the chaos tests print and says it as a table: node hack/chaos-table.js FILE. A line "<title>: {...}" holds
// counts (test/chaos/counts.ts), "<title>: BERTH_SEED=<number>" the seed.
import { readFileSync } from 'node:fs';

const rows = [];
for (const line of readFileSync(process.argv[2], 'utf8').split('\n')) {
  const [, title, rest] = /^(?:.*\[39m)?([^:{]+(?::[^:{]+)?): (BERTH_SEED=\d+|\{.*\})$/.exec(line) ?? [];
  if (rest === undefined) continue;
  if (rest.startsWith('{')) for (const [what, count] of Object.entries(JSON.parse(rest))) rows.push([title, what, String(count)]);
  else rows.push([title, 'seed', rest.slice('BERTH_SEED='.length)]);
}
const widths = [0, 1].map((column) => Math.max(0, ...rows.map((row) => row[column].length)));
for (const [title, what, count] of rows) console.log(`${title.padEnd(widths[0])}  ${what.padEnd(widths[1])}  ${count}`);
