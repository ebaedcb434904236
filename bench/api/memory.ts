import { atMost, type Figure } from '../figure.ts';
import { anonymousMegabytes } from '../process-costs.ts';
import { LeanConnection, withApiServer } from './lean-connection.ts';
import { listPods } from './pod-lists.ts';
import { PodWriter } from './pod-writer.ts';

/** So many pods, and the most that the server may hold with them, in megabytes. */
const steps = [
  { pods: 5_000, bound: 180 },
  { pods: 50_000, bound: 600 },
] as const;

/**
 * The server's anonymous memory with many pods, at the moment when they have been created as fast as it goes and listed
 * once, before any garbage collection that is forced.
 */
export function benchMemory(say: (text: string) => void): Promise<Figure[]> {
  return withApiServer(async ({ server }, target) => {
    const figures: Figure[] = [];
    const writer = await PodWriter.open(target, steps.at(-1)!.pods);
    const reader = await LeanConnection.open(target);
    say(`${anonymousMegabytes(server.pid!).toFixed(0)} MB without pods`);
    for (const { pods, bound } of steps) {
      await writer.flatOut(64, pods - writer.count);
      const created = anonymousMegabytes(server.pid!);
      const { items } = await listPods(reader);
      if (items !== pods) throw new Error(`the list has ${items} pods instead of ${pods}`);
      const listed = anonymousMegabytes(server.pid!);
      say(`${pods} pods: ${created.toFixed(0)} MB when created, ${listed.toFixed(0)} MB when listed`);
      figures.push(atMost(`anonymous memory with ${pods} pods`, Math.max(created, listed), 'MB', bound));
    }
    writer.close();
    reader.close();
    return figures;
  });
}
