import { createDockerRuntime } from './runtime/docker/docker-runtime.ts';
import type { RuntimeVersion } from './runtime/runtime.ts';
import { RuntimeError } from './runtime/runtime-error.ts';

/**
 * Asks the Docker Engine who it is, before anything is started that needs it. Throws RuntimeError whose message says how to mend it.
 */
export async function checkDocker(socketPath?: string): Promise<RuntimeVersion> {
  const docker = createDockerRuntime({ nodeName: 'preflight', ...(socketPath ? { socketPath } : {}), timeoutMs: 10_000 });
  try {
    return await docker.runtime.version();
  } catch (error) {
    if (!(error instanceof RuntimeError) || error.code !== 'unavailable') throw error;
    const advice =
      'install it (Debian: apt-get install docker.io), start it (systemctl start docker, or dockerd), and run this as root';
    throw new RuntimeError('unavailable', `the Docker Engine does not answer: ${error.message}; ${advice}`, { cause: error });
  } finally {
    docker.close();
  }
}
