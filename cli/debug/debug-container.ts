import { badRequest } from '../../api/errors/index.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { parsePairs } from '../generators/pairs.ts';
import { profiles } from './profiles.ts';

/** What `debug` is told, as kubectl names it. */
export interface DebugFlags {
  readonly image?: string;
  readonly target?: string;
  readonly container?: string;
  readonly stdin?: boolean;
  readonly tty?: boolean;
  readonly attach?: boolean;
  readonly env?: readonly string[];
  readonly quiet?: boolean;
  readonly imagePullPolicy?: string;
  readonly profile: keyof typeof profiles;
  readonly argumentsOnly?: boolean;
  readonly copyTo?: string;
  readonly setImage?: readonly string[];
  readonly shareProcesses: boolean;
  readonly sameNode?: boolean;
  readonly replace?: boolean;
}

/** The container that is added, in Kubernetes' JSON. */
export function debugContainer(name: string, words: readonly string[], flags: DebugFlags): JsonObject {
  const { image, env, imagePullPolicy, stdin = false, tty = false } = flags;
  const securityContext = profiles[flags.profile];
  return {
    name,
    ...(image !== undefined && { image }),
    ...(words.length > 0 && { [flags.argumentsOnly ? 'args' : 'command']: [...words] }),
    ...(imagePullPolicy !== undefined && { imagePullPolicy }),
    ...(env && { env: parsePairs('--env', env).map(([key, value]) => ({ name: key, value })) }),
    ...(securityContext && { securityContext: structuredClone(securityContext) }),
    ...(stdin && { stdin, ...(!tty && { stdinOnce: true }) }),
    ...(tty && { tty }),
    terminationMessagePolicy: 'File',
  };
}

/** Kubernetes leaves out what looks alike, so that a name can be read aloud. */
const letters = 'bcdfghjklmnpqrstvwxz2456789';

/** Five characters that make a name unlike others. `random` gives numbers from 0 to below 1. */
export function nameSuffix(random: () => number): string {
  return Array.from({ length: 5 }, () => letters[Math.floor(random() * letters.length)]).join('');
}

/** A name that the pod does not have yet. */
export function debuggerName(taken: readonly string[], random: () => number): string {
  for (;;) {
    const name = `debugger-${nameSuffix(random)}`;
    if (!taken.includes(name)) return name;
  }
}

/** Throws INVALID_ARGUMENT for flags that do not belong together. */
export function checkFlags(flags: DebugFlags): void {
  const { copyTo, image, target, setImage, sameNode, replace } = flags;
  if (image === undefined && copyTo === undefined) throw badRequest('--image is required, unless a copy is made with --copy-to');
  if (copyTo !== undefined && target !== undefined)
    throw badRequest('--target is for a container that joins the pod, not for a copy: leave --copy-to out');
  if (copyTo === undefined && (setImage !== undefined || sameNode || replace))
    throw badRequest('--set-image, --same-node and --replace are for a copy: add --copy-to');
  checkTerminal(flags);
}

/** The same for a node, which gets a pod of its own. */
export function checkNodeFlags(flags: DebugFlags): void {
  const { copyTo, image, target, setImage, sameNode, replace, container } = flags;
  if (image === undefined) throw badRequest('--image is required');
  if (copyTo !== undefined || setImage !== undefined || sameNode || replace || target !== undefined || container !== undefined)
    throw badRequest(
      '--copy-to, --set-image, --same-node, --replace, --target and --container are for pods: a node gets a pod with one container',
    );
  checkTerminal(flags);
}

function checkTerminal({ tty, stdin }: DebugFlags): void {
  if (tty && !stdin) throw badRequest('--tty needs --stdin: use -it');
}
