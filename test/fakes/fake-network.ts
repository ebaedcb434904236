import type { ContainerConfig, ObservedContainer, SandboxConfig } from '../../agent/runtime/runtime.ts';

/** The first host port of the sandbox that a running sandbox already has. */
export function portInUse(
  containers: Iterable<ObservedContainer & { readonly config: SandboxConfig | ContainerConfig }>,
  { portMappings }: SandboxConfig,
): number | undefined {
  const taken = new Set<string>();
  for (const { state, config } of containers)
    if (state === 'running' && 'portMappings' in config) for (const mapping of config.portMappings) taken.add(portKey(mapping));
  return portMappings.find((mapping) => taken.has(portKey(mapping)))?.hostPort;
}

function portKey({ hostPort, protocol }: { readonly hostPort: number; readonly protocol: string }): string {
  return `${hostPort}/${protocol}`;
}

/** An address for the container with this serial number. */
export function addressOf(serial: number): string {
  return `172.17.${Math.floor(serial / 250)}.${(serial % 250) + 2}`;
}
