import { badRequest } from '../../api/errors/index.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { parseLabelList, parsePairs } from './pairs.ts';

/** What `run` says of its pod. */
export interface RunFlags {
  readonly image: string;
  readonly port?: string;
  readonly env?: readonly string[];
  readonly labels?: readonly string[];
  readonly annotations?: readonly string[];
  readonly restart: 'Always' | 'OnFailure' | 'Never';
  readonly imagePullPolicy?: string;
  readonly privileged?: boolean;
  readonly stdin?: boolean;
  readonly tty?: boolean;
  readonly leaveStdinOpen?: boolean;
  /** The words are the command, not its arguments. */
  readonly command?: boolean;
}

/** A pod with one container, both of one name, as `kubectl run` makes it. */
export function podObject(name: string, words: readonly string[], flags: RunFlags): JsonObject {
  const { image, port, env, imagePullPolicy, privileged, stdin, tty, leaveStdinOpen } = flags;
  const containerPort = port === undefined ? undefined : Number(port);
  if (containerPort !== undefined && !(Number.isInteger(containerPort) && containerPort > 0 && containerPort < 65_536))
    throw badRequest(`--port takes a number from 1 to 65535, not "${port}"`);
  if (flags.command && words.length === 0) throw badRequest('--command needs the command behind --');
  const container: JsonObject = {
    name,
    image,
    ...(imagePullPolicy !== undefined && { imagePullPolicy }),
    ...(words.length > 0 && { [flags.command ? 'command' : 'args']: [...words] }),
    ...(env && { env: parsePairs('--env', env).map(([key, value]) => ({ name: key, value })) }),
    ...(containerPort !== undefined && { ports: [{ containerPort }] }),
    ...(privileged && { securityContext: { privileged } }),
    ...(stdin && { stdin, ...(!leaveStdinOpen && { stdinOnce: true }) }),
    ...(tty && { tty }),
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      labels: flags.labels ? parseLabelList('--labels', flags.labels) : { run: name },
      ...(flags.annotations && { annotations: Object.fromEntries(parsePairs('--annotations', flags.annotations)) }),
    },
    spec: { containers: [container], restartPolicy: flags.restart },
  };
}
