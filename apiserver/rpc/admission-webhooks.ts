import { kindId } from '../../api/kinds/index.ts';
import type { MetricsRegistry } from '../../api/metrics/index.ts';
import type { DynamicAdmission } from '../admission/dynamic.ts';
import { namespaceLabels } from '../admission/matching/match-resources.ts';
import { type ServiceDeps, webhookTarget } from '../admission/webhooks/service-target.ts';
import { WebhookMeter } from '../admission/webhooks/webhook-metrics.ts';
import { WebhookRules } from '../admission/webhooks/webhook-rules.ts';
import { type TargetOf, WebhookTable } from '../admission/webhooks/webhook-table.ts';
import type { WebhookTargets } from '../admission/webhooks/webhook-targets.ts';
import type { Registry } from '../registry/registry.ts';
import { connectPod } from '../tunnel/pod-connection.ts';
import type { Tunnels } from '../tunnel/tunnels.ts';

interface Deps {
  readonly registry: Registry;
  readonly tunnels: Tunnels;
  readonly metrics: MetricsRegistry;
  readonly random: () => number;
  /** Hears how webhooks are reached. */
  readonly webhookTargets?: WebhookTargets | undefined;
}

/** The server's own streams to pods: bounded by the calls of each webhook. */
const flow = { level: 'control', key: 'webhooks', name: 'the webhooks', isExempt: true } as const;

/** Puts the webhooks of users among the dynamic rules; nothing where the server is without their kinds, as in tests. */
export function addWebhooks(dynamic: DynamicAdmission, { registry, tunnels, metrics, random, webhookTargets }: Deps): void {
  const { stores } = registry;
  const [mutating, validating] = [stores.get('MutatingWebhookConfiguration'), stores.get('ValidatingWebhookConfiguration')];
  const [services, slices, namespaces] = [stores.get('Service'), stores.get('EndpointSlice'), stores.get('Namespace')];
  if (!mutating || !validating || !services || !slices || !namespaces) return;
  const deps: ServiceDeps = {
    services,
    slices,
    random,
    connectPod: ({ pod, port }, signal) => connectPod(tunnels, { ...pod, port }, { flow, signal }),
  };
  const targetOf: TargetOf = (config) => webhookTarget(config, deps);
  webhookTargets?.set(targetOf);
  const tables = {
    mutating: new WebhookTable(mutating.cache, 'mutating', targetOf),
    validating: new WebhookTable(validating.cache, 'validating', targetOf),
  };
  for (const table of Object.values(tables)) table.observe();
  dynamic.add(
    new WebhookRules({
      ...tables,
      meter: new WebhookMeter(metrics),
      labelsOfNamespace: namespaceLabels(namespaces),
      freshNamespaces: () => namespaces.fresh(),
      versionsOf: (kind) => stores.servedVersionsOf(kindId(kind)),
      now: () => performance.now(),
    }),
  );
}
