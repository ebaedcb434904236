import { unimplemented } from '../../../api/errors/index.ts';
import type { Registry } from '../../registry/registry.ts';
import type { CallContext } from '../../verbs/call-context.ts';
import { metaApiVersion } from '../answers/accept.ts';
import type { VirtualResource } from '../discovery/virtual-resources.ts';
import { listOptionsOf } from '../requests/read-query.ts';
import type { ActionRequest, DocumentRoute } from '../resource-routes.ts';
import { type MetricsDocument, metricsTable, partialMetrics } from './metrics-table.ts';
import { nodeMetrics, nodeMetricsList, podMetrics, podMetricsList } from './resource-metrics.ts';

/** The method that reads of metrics count as. */
const METHODS = '/berth.metrics.v1.ResourceMetrics';

/** How what pods and nodes use is read. Throws METHOD_NOT_ALLOWED for anything but reads, and for a watch. */
export function metricsRoute(
  { resource }: VirtualResource,
  { request, target, query }: ActionRequest,
  registry: Registry,
): DocumentRoute {
  const { namespace, name, subresource } = target;
  const isRead = (request.method === 'GET' || request.method === 'HEAD') && subresource === '' && !query.has('watch');
  if (!isRead) throw unimplemented(`${resource} of metrics.k8s.io can be read, one or all, and not be watched`);
  const kind = resource === 'pods' ? 'MeasuredPod' : 'MeasuredNode';
  const stores = { pods: registry.store('Pod'), nodes: registry.store('Node'), measured: registry.store('NodeMetrics') };
  const verb = name === '' ? 'list' : 'get';
  return {
    of: 'document',
    transform(document, wanted, include) {
      const metrics = document as MetricsDocument;
      const apiVersion = metaApiVersion(wanted);
      return wanted.as === 'Table' ? metricsTable(apiVersion, metrics, include) : partialMetrics(apiVersion, metrics);
    },
    method: `${METHODS}/${name === '' ? 'List' : 'Get'}`,
    prepare(call: CallContext) {
      call.authorize({ verb, kind, namespace, name });
      const { labelSelector, fieldSelector } = listOptionsOf(query);
      const wish = { namespace, labelSelector, fieldSelector };
      if (resource === 'pods') return () => (name === '' ? podMetricsList(stores, wish) : podMetrics(stores, namespace, name));
      return () => (name === '' ? nodeMetricsList(stores, wish) : nodeMetrics(stores, name));
    },
  };
}
