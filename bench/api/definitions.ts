import { setTimeout as delay } from 'node:timers/promises';
import type { JsonObject } from '../../client/index.ts';
import type { BenchServer } from '../berth.ts';
import { atMost, type Figure, inParallel, median, note, seconds } from '../figure.ts';
import { anonymousMegabytes, cpuSeconds } from '../process-costs.ts';
import { withApiServer } from './lean-connection.ts';

const DEFINITIONS = 500;
const BYTES = 20_000;
const FIELDS = 196;
const STARTS = 5;
/** The server gives back what its start took within 40 s. */
const SETTLE_MS = 45_000;
const IDLE_SECONDS = 20;

/** What the definitions add to a start without any: 1.5 s where a start takes one. */
const MOST_START = 1.5;
const MOST_MEGABYTES = 60;
/** Of a core; what a process counts in hundredths of a second is not exact. */
const MOST_IDLE_PERCENT = 0.5;

/** A definition of 20 KB as JSON: a schema of 196 described and bounded fields. */
export function definitionOf(index: number): JsonObject {
  const plural = `kind${index}s`;
  const field = (i: number): JsonObject => ({
    type: 'string',
    maxLength: 100 + i,
    description: `The ${i}th key of kind ${index}, as users set it.`,
  });
  const spec = Object.fromEntries(Array.from({ length: FIELDS }, (_, i) => [`key-${i}`, field(i)]));
  return {
    metadata: { name: `${plural}.bench.example.com` },
    spec: {
      group: 'bench.example.com',
      scope: 'Namespaced',
      names: { plural, kind: `Kind${index}` },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties: spec } } } },
        },
      ],
    },
  };
}

interface Costs {
  /** Until the server answers and serves what it should, in seconds. */
  readonly start: number;
  readonly startCpu: number;
  readonly megabytes: number;
  readonly idlePercent: number;
}

/** Starts the server again several times; the last start is watched while it has nothing to do. */
async function measure(server: BenchServer, serves: () => Promise<void>): Promise<Costs> {
  const [starts, cpus]: [number[], number[]] = [[], []];
  for (let i = 0; i < STARTS; i++) {
    await server.stopServer();
    starts.push(
      await seconds(async () => {
        await server.startServer();
        await serves();
      }),
    );
    cpus.push(cpuSeconds([server.server.pid!]));
  }
  const pid = server.server.pid!;
  await delay(SETTLE_MS);
  const before = cpuSeconds([pid]);
  await delay(IDLE_SECONDS * 1000);
  const idlePercent = ((cpuSeconds([pid]) - before) / IDLE_SECONDS) * 100;
  return { start: median(starts), startCpu: median(cpus), megabytes: anonymousMegabytes(pid), idlePercent };
}

/**
 * What 500 definitions of 20 KB cost a server in which nothing asks for their kinds: its start until all are served,
 * its memory and its processor, compared with those of the same server without them.
 */
export function benchDefinitions(say: (text: string) => void): Promise<Figure[]> {
  return withApiServer(async (server) => {
    const bytes = JSON.stringify(definitionOf(100)).length;
    if (bytes < BYTES) throw new Error(`the definitions have ${bytes} bytes`);
    const bare = await measure(server, async () => {});
    const { objects } = server.client;
    await inParallel(DEFINITIONS, 8, async (i) => void (await objects.create('CustomResourceDefinition', definitionOf(i))));
    const last = () => untilServed(server, `Kind${DEFINITIONS - 1}.bench.example.com`);
    await last();
    const full = await measure(server, last);
    const of = ({ start, startCpu, megabytes, idlePercent }: Costs): string =>
      `start ${start.toFixed(2)} s (processor ${startCpu.toFixed(2)} s), ${megabytes.toFixed(0)} MB, idle ${idlePercent.toFixed(2)} %`;
    say(`without definitions: ${of(bare)}; with ${DEFINITIONS}: ${of(full)}`);
    return [
      atMost('what they add to a start, against one without', (full.start - bare.start) / bare.start, 'x', MOST_START),
      note('start without definitions', bare.start, 's'),
      note(`start with ${DEFINITIONS}`, full.start, 's'),
      note('processor of a start without definitions', bare.startCpu, 's'),
      note(`processor of a start with ${DEFINITIONS}`, full.startCpu, 's'),
      atMost('what they add to the memory', full.megabytes - bare.megabytes, 'MB', MOST_MEGABYTES),
      atMost('what they add to an idle processor', full.idlePercent - bare.idlePercent, '% of a core', MOST_IDLE_PERCENT),
    ];
  });
}

/** Resolves once the server knows the kind. */
export async function untilServed({ client }: BenchServer, kind: string): Promise<void> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    try {
      await client.objects.list(kind, { limit: 1 });
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await delay(20);
    }
  }
}
