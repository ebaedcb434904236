import type { EngineAnswer, EngineIdentity } from '../runtime/docker/identify.ts';
import { type Check, fail, ok, warn } from './check.ts';

const local = /^(unix:\/\/|\/)|^(tcp|http):\/\/(localhost|127\.|\[::1\])/;

export function decideEngine(answer: EngineAnswer, address: string): Check {
  if (!local.test(address))
    return fail(
      `DOCKER_HOST is ${address}: the agent needs the Docker Engine of this very machine`,
      'unset DOCKER_HOST, and run berth up on the machine whose engine it is',
    );
  if (answer.kind === 'wrong-version')
    return fail(`the Docker Engine at ${address}: ${answer.words}`, 'Docker Engine 20.10 and newer are known to work');
  if (answer.kind === 'silent') return decideSilent(answer.errno, answer.words, address);
  if (answer.rootless)
    return fail(
      `the Docker Engine ${answer.version} runs rootless: the addresses of its containers cannot be reached from this machine`,
      'use an engine that runs as root (Debian: apt-get install docker.io)',
    );
  return ok(`Docker Engine ${answer.version} (API ${answer.apiVersion})`);
}

function decideSilent(errno: string | undefined, words: string, address: string): Check {
  switch (errno) {
    case 'EACCES':
    case 'EPERM':
      return fail(
        `this user may not talk to the Docker Engine at ${address}`,
        'run it with sudo, or join the group: usermod -aG docker $USER, then log in again',
      );
    case 'ENOENT':
      return fail(
        `there is no Docker Engine at ${address}`,
        'install it (Debian: apt-get install docker.io) and start it (systemctl start docker, or dockerd); DOCKER_HOST names another socket',
      );
    case 'ECONNREFUSED':
      return fail(`the Docker Engine at ${address} has stopped`, 'start it: systemctl start docker, or dockerd');
    default:
      return fail(
        `the Docker Engine at ${address} does not answer: ${words}`,
        'look at its log (journalctl -u docker) and start it again: systemctl restart docker',
      );
  }
}

const kernelAdvice = 'add cgroup_enable=memory swapaccount=1 to the command line of the kernel, and restart the machine';

/** What limits of pods rest on. */
export function decideCgroups(engine: EngineIdentity | undefined, controllers: readonly string[]): Check {
  const missing = ['memory', 'cpu'].filter((name) => !controllers.includes(name));
  if (missing.length > 0)
    return fail(
      `the kernel does not offer the cgroup controllers ${missing.join(' and ')}: pods could not be limited`,
      kernelAdvice,
    );
  const pids = controllers.includes('pids') ? ', pids' : '';
  if (engine === undefined) return ok(`cgroup controllers memory, cpu${pids}`);
  const { cgroupVersion, cgroupDriver } = engine;
  if (cgroupDriver === 'none')
    return fail(
      'the Docker Engine does not manage cgroups: pods could not be limited',
      'run the engine as root, or let systemd delegate cgroups to it',
    );
  const unlimited = [...(engine.limitsMemory ? [] : ['memory']), ...(engine.limitsCpu ? [] : ['cpu'])];
  if (unlimited.length > 0) return warn(`the Docker Engine cannot limit ${unlimited.join(' and ')} of containers`, kernelAdvice);
  return ok(`cgroup v${cgroupVersion} (driver ${cgroupDriver}; memory, cpu${pids})`);
}
