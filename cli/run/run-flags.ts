import { badRequest } from '../../api/errors/index.ts';
import { parseDuration } from '../args/duration.ts';
import type { RunFlags } from '../generators/pod.ts';
import type { WriteFlags } from '../write/write-options.ts';
import type { OverrideType } from './override-types.ts';

/** What `run` is told, as kubectl names it. */
export interface RunCommandFlags extends RunFlags, WriteFlags {
  readonly attach?: boolean;
  readonly rm?: boolean;
  readonly quiet?: boolean;
  readonly podRunningTimeout: string;
  readonly overrides?: string;
  readonly overrideType: OverrideType;
}

/** How long to wait for the pod, in milliseconds. Throws INVALID_ARGUMENT. */
export function runningTimeout({ podRunningTimeout: text }: Pick<RunCommandFlags, 'podRunningTimeout'>): number {
  const ms = parseDuration(text);
  if (ms <= 0) throw badRequest('--pod-running-timeout must be higher than zero');
  return ms;
}

/** Whether the container is joined. Throws INVALID_ARGUMENT for flags that do not belong together. */
export function decideAttach({ attach, stdin = false, tty = false, rm, dryRun = 'none' }: RunCommandFlags): boolean {
  if (tty && !stdin) throw badRequest('-i/--stdin is required for containers with -t/--tty=true');
  const isAttached = attach ?? stdin;
  if (rm && !isAttached) throw badRequest('--rm should only be used for attached containers: add --attach or -i');
  if (isAttached && dryRun !== 'none')
    throw badRequest(`--dry-run=${dryRun} can't be used with attached containers options (--attach, --stdin, or --tty)`);
  return isAttached;
}
