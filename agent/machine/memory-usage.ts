import type { ObservedContainer } from '../runtime/runtime.ts';
import { createContainerReader } from './cgroups/container-reader.ts';
import { workingSetOf } from './cgroups/figures.ts';
import { readSmallFile } from './small-file.ts';

/** What a running container holds of memory and cannot give back at once. Undefined when that cannot be read. */
export function readMemoryUsage(container: Pick<ObservedContainer, 'id' | 'pid'>, root = '/'): number | undefined {
  const reading = createContainerReader(root, readSmallFile).read(container, true);
  const bytes = reading === undefined ? Number.NaN : workingSetOf(reading.figures);
  return Number.isNaN(bytes) ? undefined : bytes;
}
