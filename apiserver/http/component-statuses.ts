import { notFound, unimplemented } from '../../api/errors/index.ts';
import type { Lease } from '../../api/generated/types.ts';
import { toMillis } from '../../api/meta/time.ts';
import { controllersLease, defaultSchedulerName, namespaces } from '../../api/meta/well-known.ts';
import { checkStorage } from '../calls/health-page.ts';
import type { Registry } from '../registry/registry.ts';
import type { CallContext } from '../verbs/call-context.ts';
import { metaApiVersion } from './answers/accept.ts';
import { textColumns } from './answers/column-descriptions.ts';
import type { IncludeObject } from './answers/object-forms.ts';
import { selected } from './metrics/resource-metrics.ts';
import { listOptionsOf } from './requests/read-query.ts';
import type { ActionRequest, DocumentRoute } from './resource-routes.ts';

// ComponentStatus, as Kubernetes' clients know it: how the parts of the control plane are, asked anew by each read.

const METHODS = '/berth.core.v1.ComponentStatuses';
const DEPRECATED = 'v1 ComponentStatus is deprecated in v1.19+';

/** The schedulers that are connected to the server. */
export interface Schedulers {
  names(): readonly string[];
}

interface ComponentsDeps {
  readonly registry: Registry;
  readonly schedulers: Schedulers;
}

interface ComponentStatus {
  readonly metadata: { readonly name: string; readonly creationTimestamp: null };
  readonly conditions: readonly [
    { readonly type: 'Healthy'; readonly status: string; readonly message?: string; readonly error?: string },
  ];
}

/** How the components are read. Throws METHOD_NOT_ALLOWED for anything but reads, and for a watch. */
export function componentsRoute({ request, target, query }: ActionRequest, deps: ComponentsDeps): DocumentRoute {
  const { name, subresource } = target;
  const isRead = (request.method === 'GET' || request.method === 'HEAD') && subresource === '' && !query.has('watch');
  if (!isRead) throw unimplemented('componentstatuses can be read, one or all, and not be watched');
  return {
    of: 'document',
    transform(document, wanted, include) {
      const apiVersion = metaApiVersion(wanted);
      const components = document as Document;
      return wanted.as === 'Table' ? tableOf(apiVersion, components, include) : partialOf(apiVersion, components);
    },
    method: `${METHODS}/${name === '' ? 'List' : 'Get'}`,
    prepare(call: CallContext) {
      call.authorize({ verb: name === '' ? 'list' : 'get', kind: 'ComponentStatus', namespace: '', name });
      call.warn(DEPRECATED);
      const wish = listOptionsOf(query);
      return async () => {
        const all = await componentStatuses(deps, Date.now());
        if (name === '') {
          const items = selected(all, wish);
          return { kind: 'ComponentStatusList', apiVersion: 'v1', metadata: {}, items };
        }
        const found = all.find(({ metadata }) => metadata.name === name);
        if (!found) throw notFound({ kind: 'ComponentStatus', name, resource: 'componentstatuses', group: '' });
        return { kind: 'ComponentStatus', apiVersion: 'v1', ...found };
      };
    },
  };
}

/** By Kubernetes' names and in its order of names. */
async function componentStatuses({ registry, schedulers }: ComponentsDeps, now: number): Promise<ComponentStatus[]> {
  const leases = registry.store('Lease');
  const entry = await leases.read({ namespace: namespaces.system, name: controllersLease });
  const lease = entry && (leases.cache.decoder.decode(entry) as Lease);
  return [
    statusOf('controller-manager', whyNoControllers(lease, now)),
    statusOf('etcd-0', await whyNoStore(registry)),
    statusOf('scheduler', whyNoScheduler(schedulers.names())),
  ];
}

function statusOf(name: string, error: string | undefined): ComponentStatus {
  const metadata = { name, creationTimestamp: null } as const;
  const type = 'Healthy' as const;
  if (error === undefined) return { metadata, conditions: [{ type, status: 'True', message: 'ok' }] };
  return { metadata, conditions: [{ type, status: 'False', message: 'unhealthy', error }] };
}

/** Why no process runs the controllers; undefined: one does. Pure. */
export function whyNoControllers(lease: Lease | undefined, now: number): string | undefined {
  const { holderIdentity, renewTime, leaseDurationSeconds = 0 } = lease?.spec ?? {};
  if (!holderIdentity || !renewTime) return 'no process runs the controllers';
  const silentMs = now - toMillis(renewTime);
  if (silentMs <= leaseDurationSeconds * 1000) return undefined;
  return `${holderIdentity}, which runs the controllers, has been silent for ${Math.round(silentMs / 1000)} s`;
}

/** A scheduler keeps a connection to the server while it places pods. Pure. */
export function whyNoScheduler(connected: readonly string[]): string | undefined {
  return connected.includes(defaultSchedulerName) ? undefined : `no scheduler called "${defaultSchedulerName}" is connected`;
}

async function whyNoStore({ storage }: Registry): Promise<string | undefined> {
  try {
    await checkStorage(storage);
    return undefined;
  } catch {
    return 'the store cannot be read, or answers late';
  }
}

type Document = ComponentStatus | { readonly metadata: object; readonly items: readonly ComponentStatus[] };

const columns = textColumns('Name', 'Status', 'Message', 'Error');

function tableOf(apiVersion: string, document: Document, include: IncludeObject): object {
  const [items, metadata] = 'items' in document ? [document.items, document.metadata] : [[document], {}];
  const rows = items.map((item) => {
    const [{ status, message = '', error = '' }] = item.conditions;
    return {
      cells: [item.metadata.name, status === 'True' ? 'Healthy' : 'Unhealthy', message, error],
      object:
        include === 'None'
          ? null
          : include === 'Object'
            ? { kind: 'ComponentStatus', apiVersion: 'v1', ...item }
            : partialOf(apiVersion, item),
    };
  });
  return { kind: 'Table', apiVersion, metadata, columnDefinitions: columns, rows };
}

function partialOf(apiVersion: string, document: Document): object {
  if ('items' in document) {
    const { metadata, items } = document;
    return { kind: 'PartialObjectMetadataList', apiVersion, metadata, items: items.map((item) => partialOf(apiVersion, item)) };
  }
  return { kind: 'PartialObjectMetadata', apiVersion, metadata: document.metadata };
}
