import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ApiObject } from '../../api/kinds/kind.ts';
import type { Clock } from '../../client/clock.ts';
import type { Logger } from '../../client/logger.ts';
import { KeptFile } from '../kept-file.ts';
import type { KnownServices } from './service-feed.ts';

const fileOf = (nodeDir: string): string => join(nodeDir, 'services.json');

/** What an agent of this folder knew last; undefined where there is nothing that can be read. */
export async function readKeptServices(nodeDir: string): Promise<KnownServices | undefined> {
  try {
    const { services, slices } = JSON.parse(await readFile(fileOf(nodeDir), 'utf8')) as Partial<KnownServices>;
    return isNamed(services) && isNamed(slices) ? { services, slices } : undefined;
  } catch {
    return undefined;
  }
}

const isNamed = <T extends ApiObject>(list: readonly T[] | undefined): list is readonly T[] =>
  Array.isArray(list) && (list as readonly (T | null)[]).every((each) => typeof each?.metadata?.name === 'string');

/** A machine that restarts without its server knows Services as they were then. */
const writeMs = 30_000;

export interface KeepServicesOptions {
  readonly nodeDir: string;
  readonly known: () => KnownServices;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn'>;
}

/** Keeps what is known of Services on the node's disk. */
export const keepServices = ({ nodeDir, ...options }: KeepServicesOptions): KeptFile =>
  new KeptFile({ ...options, file: fileOf(nodeDir), words: 'Services', everyMs: writeMs });
