// Serves each Website: a ConfigMap with its page and a Deployment that serves it, both owned by the Website, so that
// they go with it. The ConfigMap "sitemap" lists the Websites of its namespace. It belongs to none of them, so a
// finalizer keeps a Website that is deleted until it is off the list.
import { realpathSync } from 'node:fs';
import {
  type ApiObject,
  type Client,
  connect,
  controllerReference,
  createInformer,
  createWorkQueue,
  type Deployment,
  defineKind,
  isNotFound,
  loadContext,
  objectKey,
} from 'berth';

interface Website extends ApiObject {
  readonly spec: { readonly page: string; readonly replicas: number };
  readonly status?: WebsiteStatus;
}

interface WebsiteStatus {
  readonly observedGeneration?: number;
  readonly readyReplicas?: number;
  readonly phase?: 'Starting' | 'Ready';
}

const websites = defineKind<Website>({ apiVersion: 'example.com/v1', kind: 'Website', plural: 'websites' });
const finalizer = 'example.com/sitemap';
const label = 'example.com/website';
/** Fields that it applies are the operator's; all others stay as they are. */
const asOperator = { fieldManager: 'website-operator', force: true };

/** Pods that serve what the ConfigMap of the same name holds. */
function deploymentOf({ metadata = {}, spec }: Website): Deployment {
  const { name = '', namespace = '' } = metadata;
  const labels = { [label]: name };
  const container = {
    name: 'web',
    image: 'berth/busybox:latest',
    imagePullPolicy: 'IfNotPresent',
    command: ['httpd', '-f', '-p', '8080', '-h', '/www'],
    volumeMounts: [{ name: 'page', mountPath: '/www', readOnly: true }],
  };
  return {
    metadata: { namespace, name, labels },
    spec: {
      replicas: spec.replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [container],
          volumes: [{ name: 'page', volumeSource: { configMap: { localObjectReference: { name } } } }],
        },
      },
    },
  };
}

export async function runOperator(client: Client, signal: AbortSignal): Promise<void> {
  const resource = client.resource(websites);
  const ours = { scope: { labelSelector: label } };
  const sites = createInformer({ name: 'websites', client: resource });
  const deployments = createInformer({ name: 'deployments', client: client.deployments, ...ours });
  const pages = createInformer({ name: 'pages', client: client.configMaps, ...ours });
  const queue = createWorkQueue({ name: 'websites' });

  // What changes only says which Website to look at; what to do follows from what there is.
  const wake = (site: ApiObject): void => queue.add(objectKey(site));
  sites.addHandler({ onAdd: wake, onUpdate: wake });
  // What it makes has the name of its Website.
  deployments.addHandler({ onUpdate: wake, onDelete: wake });
  pages.addHandler({ onUpdate: wake, onDelete: wake });

  async function reconcile(key: string): Promise<void> {
    const site = sites.lister.get(key);
    if (site === undefined) return;
    try {
      await (site.metadata?.deletionTimestamp ? unpublish(site) : publish(site));
    } catch (error) {
      // Deleted while it was worked on: its own event follows. The queue logs any other error, and tries again.
      if (!isNotFound(error)) throw error;
    }
  }

  async function publish(site: Website): Promise<void> {
    const { namespace = '', name = '', generation, finalizers = [] } = site.metadata ?? {};
    if (!finalizers.includes(finalizer)) return setFinalizers(site, [...finalizers, finalizer]);
    const ownerReferences = [controllerReference(websites, site)];
    const labels = { [label]: name };
    const page = { metadata: { namespace, name, labels, ownerReferences }, data: { 'index.html': site.spec.page } };
    await client.configMaps.apply(page, asOperator);
    const deployment = deploymentOf(site);
    await client.deployments.apply({ ...deployment, metadata: { ...deployment.metadata, ownerReferences } }, asOperator);
    await list(namespace, name, `${name}.${namespace}`);
    const { readyReplicas = 0 } = deployments.lister.get(objectKey(site))?.status ?? {};
    const phase = readyReplicas >= site.spec.replicas ? 'Ready' : 'Starting';
    const status: WebsiteStatus = { ...(generation && { observedGeneration: generation }), readyReplicas, phase };
    if (!isSame(site.status, status)) await resource.patch({ namespace, name, subresource: 'status' }, { status });
  }

  async function unpublish(site: Website): Promise<void> {
    const { namespace = '', name = '', finalizers = [] } = site.metadata ?? {};
    if (!finalizers.includes(finalizer)) return;
    await list(namespace, name, undefined);
    const others = finalizers.filter((each) => each !== finalizer);
    await setFinalizers(site, others);
  }

  /** Only of the version that was looked at: another's finalizer that came since would be lost. */
  async function setFinalizers({ metadata = {} }: Website, finalizers: readonly string[]): Promise<void> {
    const { namespace, name = '', resourceVersion } = metadata;
    await resource.patch({ ...(namespace && { namespace }), name }, { metadata: { resourceVersion, finalizers } });
  }

  /** Each Website applies its own entry, as a manager of its own; applying nothing takes the entry away. */
  async function list(namespace: string, name: string, entry: string | undefined): Promise<void> {
    const data: Record<string, string> = entry === undefined ? {} : { [name]: entry };
    const options = { fieldManager: `website-${name}`, force: true };
    await client.configMaps.apply({ metadata: { namespace, name: 'sitemap' }, data }, options);
  }

  const informers = [sites, deployments, pages];
  const following = Promise.all(informers.map((informer) => informer.run(signal)));
  await Promise.all(informers.map((informer) => informer.waitForSync(signal)));
  await Promise.all([following, queue.run(2, reconcile, signal)]);
}

function isSame(a: WebsiteStatus = {}, b: WebsiteStatus = {}): boolean {
  return a.observedGeneration === b.observedGeneration && a.readyReplicas === b.readyReplicas && a.phase === b.phase;
}

// True when node was started with this file, by whichever path, and false when a test imports it.
if (realpathSync(process.argv[1] ?? '') === import.meta.filename) {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort());
  const client = connect({ ...(await loadContext()).options, userAgent: 'website-operator' });
  await runOperator(client, stop.signal).finally(() => client.close());
}
