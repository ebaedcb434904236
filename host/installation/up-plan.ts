import type { ProcessName } from '../processes/berth-processes.ts';
import type { BerthBuild } from '../processes/own-build.ts';
import { processNames, type Running } from '../processes/processes.ts';

/** What `berth up` has to do, from what runs. */
export type UpPlan =
  | { readonly kind: 'start' }
  /**
   * `versions` are those that run: one, or two between a crash and the end of an upgrade. `isOtherBuild`: all are of
   * this program's version, and not all of this build of it.
   */
  | { readonly kind: 'running'; readonly versions: readonly string[]; readonly isOtherBuild: boolean }
  /** Something is missing: these are started, and these run without a supervisor. */
  | { readonly kind: 'mend'; readonly start: readonly ProcessName[]; readonly rescue: readonly ProcessName[] }
  /** The server listens for other machines from now on, or at another address. */
  | { readonly kind: 'advertise' }
  | { readonly kind: 'upgrade'; readonly from: string };

export interface UpWish {
  readonly isUpgrade: boolean;
  /** Whether another address is to be advertised than the one that is. */
  readonly advertises: boolean;
  /** Of the processes that run, as far as they have said it. */
  readonly builds: readonly BerthBuild[];
  /** This program. */
  readonly ours: BerthBuild;
}

export function decideUp(running: Readonly<Record<ProcessName, Running>>, wish: UpWish): UpPlan {
  const isThere = (name: ProcessName): boolean => running[name].keeper !== undefined || running[name].process !== undefined;
  const start = processNames.filter((name) => !isThere(name));
  if (start.length === processNames.length) return { kind: 'start' };
  const { builds, ours } = wish;
  const versions = [...new Set(builds.map(({ version }) => version))];
  const isSame = versions.every((version) => version === ours.version);
  // A program that runs from its sources has no build. Processes without one run from sources, or are older than ids.
  const isOtherBuild = isSame && ours.build !== '' && builds.some(({ build }) => build !== ours.build);
  if (wish.isUpgrade && (!isSame || isOtherBuild))
    return { kind: 'upgrade', from: isSame ? `another build of ${ours.version}` : versions.join(' and ') };
  const rescue = processNames.filter((name) => isThere(name) && running[name].keeper === undefined);
  if (start.length + rescue.length > 0) return { kind: 'mend', start, rescue };
  return wish.advertises && isSame ? { kind: 'advertise' } : { kind: 'running', versions, isOtherBuild };
}
