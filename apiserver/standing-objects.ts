import { keepServiceAddresses } from './allocation/service-addresses.ts';
import type { ServiceAllocator } from './allocation/service-allocator.ts';
import { keepFlowControlObjects } from './flow-control-objects.ts';
import type { ServerOptions } from './options.ts';
import { ensureObjects } from './registry/keepers/ensure-objects.ts';
import type { Registry } from './registry/registry.ts';

/**
 * Makes the objects that every cluster has, before the server serves, and keeps those that must stay as they are until
 * the signal aborts: gives the loops that do.
 */
export async function keepStandingObjects(
  { registry, allocator }: { readonly registry: Registry; readonly allocator: ServiceAllocator },
  options: Pick<ServerOptions, 'serviceRanges' | 'log' | 'controllerRules'>,
  signal: AbortSignal,
): Promise<Promise<void>[]> {
  await ensureObjects(registry, options.controllerRules);
  const flowControl = await keepFlowControlObjects(registry, options.log, signal);
  return [flowControl.ended, ...(await keepServiceAddresses({ registry, allocator }, options, signal))];
}
