import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../client/clock.ts';
import type { Logger } from '../../client/logger.ts';
import { KeptFile } from '../kept-file.ts';
import type { KnownPolicies } from './policy-feed.ts';

const fileOf = (nodeDir: string): string => join(nodeDir, 'network-policies.json');

/** What an agent of this folder knew last; undefined where there is nothing that can be read. */
export async function readKeptPolicies(nodeDir: string): Promise<KnownPolicies | undefined> {
  try {
    const { policies, slices, pods } = JSON.parse(await readFile(fileOf(nodeDir), 'utf8')) as Partial<KnownPolicies>;
    const isKnown = Array.isArray(policies) && Array.isArray(slices) && Array.isArray(pods);
    return isKnown ? { policies, slices, pods } : undefined;
  } catch {
    return undefined;
  }
}

/** A machine that restarts without its server has the policies as they were then. */
const writeMs = 5_000;

export interface KeepPoliciesOptions {
  readonly nodeDir: string;
  readonly known: () => KnownPolicies;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn'>;
}

/** Keeps policies, and what they need to know of pods, on the node's disk. */
export const keepPolicies = ({ nodeDir, ...options }: KeepPoliciesOptions): KeptFile =>
  new KeptFile({ ...options, file: fileOf(nodeDir), words: 'network policies', everyMs: writeMs });
