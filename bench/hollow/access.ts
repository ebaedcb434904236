import type { PodDialer } from '../../agent/machine/pod-dialer.ts';
import type { CommandRunner, ContainerAccess, ExecSession } from '../../agent/runtime/runtime.ts';
import { RuntimeError } from '../../agent/runtime/runtime-error.ts';
import { type Clock, pause } from '../../client/clock.ts';
import { readinessCommand } from './hollow-pod.ts';
import type { HollowRuntime } from './runtime.ts';

/** What logs hold, commands say, and errors tell. */
export const noProcess = 'hollow node: no process';

/** A command that was found and cannot be run, as shells report it. */
const cannotRun = 126;

type Containers = Pick<HollowRuntime, 'find' | 'untilEnded'>;

/** Logs of one line; commands that fail and say why; nothing to attach to while a container runs; no files. */
export function createHollowAccess({ find, untilEnded }: Containers): ContainerAccess {
  const refuse = (what: string) => new RuntimeError('failed', `${what}: ${noProcess}`);
  return {
    async *logs(id, { follow, tailLines, sinceTime, timestamps }, signal) {
      const { startedAt } = find(id).observed;
      const isOld = sinceTime !== undefined && startedAt !== undefined && startedAt < sinceTime;
      if (startedAt !== undefined && tailLines !== 0 && !isOld)
        yield Buffer.from(`${timestamps ? `${startedAt.toISOString()} ` : ''}${noProcess}\n`);
      if (follow) await untilEnded(id, signal);
    },
    async exec(id) {
      find(id);
      return { ...session([{ stream: 'stderr', data: Buffer.from(`${noProcess}\n`) }]), exitCode: async () => cannotRun };
    },
    async attach(id, { fromStart, stdout, stderr }) {
      const { state, startedAt } = find(id).observed;
      if (state === 'running') throw refuse(`attach to container ${id}`);
      const told = fromStart === true && startedAt !== undefined && (stdout || stderr);
      return session(told ? [{ stream: 'stdout', data: Buffer.from(`${noProcess}\n`) }] : []);
    },
    stat: async () => Promise.reject(refuse('read files')),
    readFiles: async () => Promise.reject(refuse('read files')),
    writeFiles: async () => Promise.reject(refuse('write files')),
  };
}

type Output = { readonly stream: 'stdout' | 'stderr'; readonly data: Uint8Array };

function session(said: readonly Output[]): Omit<ExecSession, 'exitCode'> {
  return {
    async *output() {
      yield* said;
    },
    write: async () => {},
    closeInput: async () => {},
    resize: async () => {},
    close: () => {},
  };
}

/** Answers probes and hooks: readiness from when its pod says, everything else well. */
export function createHollowCommands({ find }: Pick<HollowRuntime, 'find'>, clock: Clock): CommandRunner {
  return {
    async run(id, [program], { timeoutMs = Number.POSITIVE_INFINITY }, signal) {
      const { observed, pod } = find(id);
      if (observed.state !== 'running') throw new RuntimeError('conflict', `container ${id} does not run`);
      if (program !== readinessCommand) return { type: 'succeeded' };
      const readyAt = (observed.startedAt?.getTime() ?? 0) + (pod?.behaviour.readyAfterMs ?? 0);
      const leftMs = readyAt - clock.now();
      if (leftMs > 0 && !(leftMs < timeoutMs && Number.isFinite(leftMs)))
        return { type: 'failed', exitCode: 1, output: 'hollow node: not ready yet' };
      if (leftMs > 0) await pause(leftMs, signal, clock);
      if (signal.aborted) throw new RuntimeError('conflict', `the command in container ${id} was aborted`);
      return { type: 'succeeded' };
    },
  };
}

/** Nothing listens in a hollow pod. */
export const hollowDialer: PodDialer = {
  dial: async ({ podName }, port) =>
    Promise.reject(new RuntimeError('conflict', `connect to port ${port} of pod "${podName}": ${noProcess}`)),
  close: () => {},
};
