import { resourceAmounts } from '../api/kinds/pod/resources.ts';
import type { LogLevelControl } from '../api/meta/log-level.ts';
import type { MetricsRegistry } from '../api/metrics/index.ts';
import { createBackoff } from '../client/backoff.ts';
import type { Client } from '../client/client.ts';
import { type Clock, pause } from '../client/clock.ts';
import { createEventRecorder } from '../client/events.ts';
import type { Logger } from '../client/logger.ts';
import { createImageSource } from './config/images.ts';
import type { ObjectSource } from './config/objects.ts';
import { createLimit } from './limit.ts';
import { ensureSandboxImage, ownSandboxImage } from './pause/sandbox-image.ts';
import { createPodEvents } from './pod/pod-events.ts';
import { createPodWorkers, type PodWorkers } from './pod/pod-workers.ts';
import { createStarter } from './pod/start-containers.ts';
import { createStopper } from './pod/stop-containers.ts';
import type { AgentPorts } from './ports.ts';
import type { ContainerRuntime } from './runtime/runtime.ts';
import { RuntimeError } from './runtime/runtime-error.ts';
import type { StatusWriter } from './status/status-writer.ts';

/** What the parts of an agent are made from. */
export interface Wiring {
  readonly client: Client;
  readonly nodeName: string;
  readonly sandboxImage?: string | undefined;
  readonly logger: Logger;
  readonly logLevel?: LogLevelControl | undefined;
  readonly metrics: MetricsRegistry;
  readonly ports: AgentPorts;
  readonly nodeDir: string;
  readonly clock: Clock;
}

/** Calls that make the engine work at once. More do not go faster, they only make each other wait (FIELD.md: the floor is 8). */
const engineCalls = 8;

interface Parts {
  readonly status: StatusWriter;
  readonly objects: ObjectSource;
}

/** The pod workers with everything they act through. Starts nothing. */
export function wireWorkers(wiring: Wiring, { status, objects }: Parts, signal: AbortSignal): PodWorkers {
  const { client, nodeName, logger, clock, ports, metrics, sandboxImage = ownSandboxImage } = wiring;
  const { volumes, inventory } = ports;
  const runtime = withSandboxImage(ports, sandboxImage);
  const events = createPodEvents(
    createEventRecorder({ client: client.events, component: 'kubelet', host: nodeName, clock, logger }),
  );
  const limit = createLimit(engineCalls);
  const amounts = resourceAmounts(inventory.allocatable);
  const hostIP = inventory.addresses.find(({ type }) => type === 'InternalIP')?.address ?? '';
  const allocatable = { cpuMilli: amounts.cpu ?? 0, memoryBytes: amounts.memory ?? 0 };
  const images = createImageSource(ports.images, clock, signal);
  const starter = createStarter({ runtime, images, objects, volumes, events, clock, limit, sandboxImage, hostIP, allocatable });
  const stopper = createStopper({ runtime, pods: client.pods, volumes, status, events, clock, limit });
  return createPodWorkers({ runtime, starter, stopper, status, events, clock, logger, metrics, hostIP, allocatable: amounts });
}

/** The sandbox image may go while the agent runs: somebody cleans up, or purges another Berth on this machine. Then it is made again. */
function withSandboxImage({ runtime, images }: AgentPorts, sandboxImage: string): ContainerRuntime {
  return {
    ...runtime,
    async runSandbox(config) {
      try {
        return await runtime.runSandbox(config);
      } catch (error) {
        if (!(error instanceof RuntimeError) || error.code !== 'image-not-found') throw error;
        await ensureSandboxImage(images, sandboxImage);
        return runtime.runSandbox(config);
      }
    },
  };
}

/** Returns when the sandbox image is on the machine, or on abort. */
export async function untilSandboxImage({ ports, sandboxImage, clock, logger }: Wiring, signal: AbortSignal): Promise<void> {
  const backoff = createBackoff({ maxMs: 10_000 });
  while (!signal.aborted) {
    try {
      await ensureSandboxImage(ports.images, sandboxImage);
      return;
    } catch (err) {
      logger.warn({ err }, 'cannot get the sandbox image ready, will retry');
      await pause(backoff.next(), signal, clock);
    }
  }
}
