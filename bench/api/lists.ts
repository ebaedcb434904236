import { atMost, type Figure, note } from '../figure.ts';
import { cpuSeconds } from '../process-costs.ts';
import { LeanConnection, withApiServer } from './lean-connection.ts';
import { type ListTimes, listPods } from './pod-lists.ts';
import { PodWriter } from './pod-writer.ts';

const PODS = 5_000;
const WARM_UP = 5;
const LISTS = 40;
/** Nine of ten lists keep the bound. */
const SHARE = 0.9;
const WRITES_PER_SECOND = 200;

/** Lists of 5,000 typical pods, in pages as the server cuts them: on a quiet server, and while pods are written, so that pages show a past state. */
export function benchLists(say: (text: string) => void): Promise<Figure[]> {
  return withApiServer(async ({ server }, target) => {
    const writer = await PodWriter.open(target, PODS + 10_000);
    await writer.flatOut(64, PODS);
    const connection = await LeanConnection.open(target);
    for (let i = 0; i < WARM_UP; i++) await listPods(connection);
    const cpu = cpuSeconds([server.pid!]);
    const quiet = await manyLists(connection);
    const spent = (cpuSeconds([server.pid!]) - cpu) / LISTS;
    let writing = true;
    const writes = (async () => {
      while (writing) await writer.steadily(WRITES_PER_SECOND, WRITES_PER_SECOND / 4);
    })();
    const busy = await manyLists(connection);
    writing = false;
    await writes;
    connection.close();
    writer.close();
    if (quiet.some(({ items }) => items !== PODS)) throw new Error(`a list had ${quiet[0]?.items} pods instead of ${PODS}`);
    say(`${quiet[0]!.pages} pages; ${(spent * 1000).toFixed(1)} ms of the server's processor for a list`);
    const name = `list of ${PODS} pods`;
    return [
      atMost(`${name}, first page`, at(quiet, 'firstMs'), 'ms', 60),
      atMost(`${name}, all pages`, at(quiet, 'allMs'), 'ms', 250),
      note(`${name}, first page, while ${WRITES_PER_SECOND} pods/s are written`, at(busy, 'firstMs'), 'ms'),
      note(`${name}, all pages, while ${WRITES_PER_SECOND} pods/s are written`, at(busy, 'allMs'), 'ms'),
      note("server's processor for a list", spent * 1000, 'ms'),
    ];
  });
}

async function manyLists(connection: LeanConnection): Promise<ListTimes[]> {
  const lists: ListTimes[] = [];
  while (lists.length < LISTS) lists.push(await listPods(connection));
  return lists;
}

function at(lists: readonly ListTimes[], field: 'firstMs' | 'allMs'): number {
  return lists.map((list) => list[field]).sort((a, b) => a - b)[Math.floor(lists.length * SHARE)]!;
}
