import type { Logger } from 'pino';
import type { FlowSchema, PriorityLevelConfiguration } from '../api/generated/types.ts';
import { fixedFlowSchema, mandatoryFlowSchemas } from '../api/kinds/flow-schema/mandatory.ts';
import { fixedPriorityLevel, mandatoryPriorityLevels } from '../api/kinds/priority-level-configuration/mandatory.ts';
import { keepServiceAddresses } from './allocation/service-addresses.ts';
import type { ServiceAllocator } from './allocation/service-allocator.ts';
import type { ServerOptions } from './options.ts';
import type { AnyObject } from './registry/any-object.ts';
import { ensureObjects } from './registry/keepers/ensure-objects.ts';
import { keepOwnObjects, type OwnObject, type Wanted } from './registry/keepers/own-objects.ts';
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

/**
 * Makes the FlowSchemas and PriorityLevelConfigurations that every cluster of Kubernetes has, and makes them anew when
 * they are deleted. This server limits requests by other rules: it acts on no object of these kinds.
 */
async function keepFlowControlObjects(
  registry: Registry,
  log: Logger,
  signal: AbortSignal,
): Promise<{ readonly ended: Promise<void> }> {
  const objects: OwnObject[] = [
    ...Object.keys(mandatoryPriorityLevels).map(
      (name): OwnObject => ({
        ...{ kind: 'PriorityLevelConfiguration', namespace: '', name },
        wanted: (stored) => wantedOf(stored, (object: PriorityLevelConfiguration) => fixedPriorityLevel(object), name),
      }),
    ),
    ...Object.keys(mandatoryFlowSchemas).map(
      (name): OwnObject => ({
        ...{ kind: 'FlowSchema', namespace: '', name },
        wanted: (stored) => wantedOf(stored, (object: FlowSchema) => fixedFlowSchema(object), name),
      }),
    ),
  ];
  return await keepOwnObjects({ registry, log, what: 'the objects of flow control', objects }, signal);
}

/** The spec is fixed; the status belongs to other writers. */
function wantedOf(stored: AnyObject | undefined, specOf: (object: AnyObject) => object | undefined, name: string): Wanted {
  const { metadata, ...fields } = stored ?? {};
  return { fields: { ...fields, spec: specOf({ ...fields, metadata: { name } }) } };
}
