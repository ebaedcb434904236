import type { Container, Lifecycle, LifecycleHandler, Pod, Probe } from '../../api/generated/types.ts';
import type { Behaviour } from './behaviour.ts';
import { unpullable } from './images.ts';

/** The command of a readiness probe; every other command succeeds. */
export const readinessCommand = 'hollow-node-is-ready';
const successCommand = 'hollow-node-does-nothing';

/** A readiness probe that was made for a delay looks once when it is over; then it costs nothing for an hour. */
const ownPeriodSeconds = 3_600;

/**
 * The pod as the agent of a hollow node sees it. No process answers in it: probes and hooks that would call over the
 * network, or run a program, become commands, which hollow nodes answer; a container that is ready after a while, or
 * never, has a readiness probe. Nothing is written to disk for last words, and images are there unless the pod is told
 * otherwise. Pure; the agent writes none of it back.
 */
export function hollowPod(pod: Pod, behaviour: Behaviour): Pod {
  const { spec, metadata } = pod;
  if (spec === undefined) return pod;
  const { managedFields: _, ...kept } = metadata ?? {};
  const hollow = (container: Container) => hollowContainer(container, behaviour);
  return {
    ...pod,
    metadata: kept,
    spec: {
      ...spec,
      ...(spec.initContainers && { initContainers: spec.initContainers.map(hollow) }),
      ...(spec.containers && { containers: spec.containers.map(hollow) }),
    },
  };
}

function hollowContainer(container: Container, behaviour: Behaviour): Container {
  const { image = '', livenessProbe, startupProbe, lifecycle } = container;
  const readinessProbe = readinessOf(container, behaviour);
  return {
    ...container,
    terminationMessagePath: '',
    ...(behaviour.failsToPull ? { image: unpullable(image), imagePullPolicy: 'Always' } : { imagePullPolicy: 'IfNotPresent' }),
    ...(livenessProbe && { livenessProbe: asCommand(livenessProbe, successCommand) }),
    ...(startupProbe && { startupProbe: asCommand(startupProbe, successCommand) }),
    ...(readinessProbe && { readinessProbe }),
    ...(lifecycle && { lifecycle: hollowLifecycle(lifecycle) }),
  };
}

function readinessOf({ readinessProbe }: Container, { readyAfterMs }: Behaviour): Probe | undefined {
  if (readinessProbe !== undefined) return asCommand(readinessProbe, readinessCommand);
  if (readyAfterMs === 0) return undefined;
  // The command itself waits until the container is ready.
  const timeoutSeconds = Number.isFinite(readyAfterMs) ? Math.ceil(readyAfterMs / 1000) + 1 : 1;
  const once = { periodSeconds: ownPeriodSeconds, timeoutSeconds, successThreshold: 1, failureThreshold: 3 };
  return asCommand(once, readinessCommand);
}

function asCommand(probe: Probe, command: string): Probe {
  return { ...probe, handler: { exec: { command: [command] } } };
}

/** A hook that only waits waits here, too. */
function hollowLifecycle({ postStart, preStop, ...rest }: Lifecycle): Lifecycle {
  const hollow = (handler: LifecycleHandler): LifecycleHandler =>
    handler.sleep === undefined ? { exec: { command: [successCommand] } } : handler;
  return { ...rest, ...(postStart && { postStart: hollow(postStart) }), ...(preStop && { preStop: hollow(preStop) }) };
}
