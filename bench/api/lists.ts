import { performance } from 'node:perf_hooks';
import { atMost, type Figure, note } from '../figure.ts';
import { cpuSeconds } from '../process-costs.ts';
import { withBare } from './bare.ts';
import { barePath } from './bare-protocol.ts';
import { LeanConnection, withApiServer } from './lean-connection.ts';
import { type ListTimes, listPods } from './pod-lists.ts';
import { PodWriter } from './pod-writer.ts';

const PODS = 5_000;
const WARM_UP = 5;
const LISTS = 40;
/** Nine of ten lists keep the bound. */
const SHARE = 0.9;
const WRITES_PER_SECOND = 200;
/**
 * To a bare server that answers the same pages without looking at them: its time is TLS's, HTTP/2's and the reader's.
 */
const MOST_FIRST = 2;
const MOST_ALL = 1.6;

/**
 * Lists of 5,000 typical pods, in pages as the server cuts them: on a quiet server beside a bare one, and while pods
 * are written, so that pages show a past state.
 */
export function benchLists(say: (text: string) => void): Promise<Figure[]> {
  return withApiServer(async (berth, target) => {
    const { server } = berth;
    const writer = await PodWriter.open(target, PODS + 10_000);
    await writer.flatOut(64, PODS);
    const connection = await LeanConnection.open(target);
    for (let i = 0; i < WARM_UP; i++) await listPods(connection);
    let spent = 0;
    const [quiet, bare] = await withBare(berth, Buffer.alloc(0), async (bare) => {
      const { answers } = await listPods(connection);
      bare.keepPages(answers);
      const other = await LeanConnection.open(bare.target);
      for (let i = 0; i < WARM_UP; i++) await barePages(other, answers.length);
      const [own, others]: [ListTimes[], PageTimes[]] = [[], []];
      while (own.length < LISTS) {
        const cpu = cpuSeconds([server.pid!]);
        own.push(await listPods(connection));
        spent += (cpuSeconds([server.pid!]) - cpu) / LISTS;
        others.push(await barePages(other, answers.length));
      }
      other.close();
      return [own, others];
    });
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
      atMost(`${name}, first page, to bare pages`, at(quiet, 'firstMs') / at(bare, 'firstMs'), 'x', MOST_FIRST),
      atMost(`${name}, all pages, to bare pages`, at(quiet, 'allMs') / at(bare, 'allMs'), 'x', MOST_ALL),
      note(`${name}, first page`, at(quiet, 'firstMs'), 'ms'),
      note(`${name}, all pages`, at(quiet, 'allMs'), 'ms'),
      note('all bare pages', at(bare, 'allMs'), 'ms'),
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

type PageTimes = Pick<ListTimes, 'firstMs' | 'allMs'>;

/** The same pages from the bare server, one after the other. */
async function barePages(connection: LeanConnection, pages: number): Promise<PageTimes> {
  const begin = performance.now();
  let firstMs = 0;
  for (let page = 0; page < pages; page++) {
    await connection.unary(barePath.page, Buffer.from(String(page)));
    if (page === 0) firstMs = performance.now() - begin;
  }
  return { firstMs, allMs: performance.now() - begin };
}

function at(lists: readonly PageTimes[], field: 'firstMs' | 'allMs'): number {
  return lists.map((list) => list[field]).sort((a, b) => a - b)[Math.floor(lists.length * SHARE)]!;
}
