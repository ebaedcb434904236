import { setTimeout as pause } from 'node:timers/promises';
import { isNotFound } from '../../api/errors/index.ts';
import type { JsonObject, ObjectsClient } from '../../client/index.ts';

/** A kind is served within a second, unless another one has its names. */
const mostMs = 10_000;
const stepMs = 50;

/** Waits until the kinds of these definitions are served; what is not served by then is refused by the server. */
export async function untilServed(objects: ObjectsClient, names: readonly string[]): Promise<void> {
  const end = performance.now() + mostMs;
  for (const name of names) while (performance.now() < end && !(await isDecided(objects, name))) await pause(stepMs);
}

/** A definition that does not get its names waits for what others do. */
async function isDecided(objects: ObjectsClient, name: string): Promise<boolean> {
  try {
    const { status } = await objects.get('CustomResourceDefinition', { name });
    const { conditions = [] } = (status ?? {}) as { conditions?: JsonObject[] };
    return conditions.some(({ type, status: said }) => (type === 'Established' && said === 'True') || said === 'False');
  } catch (error) {
    if (isNotFound(error)) return true;
    throw error;
  }
}
