import { encodeMessage } from '../../api/codec/message.ts';
import { badRequest, failedPrecondition, notFound } from '../../api/errors/index.ts';
import type { EmptyNamespaceRequest, Namespace } from '../../api/generated/types.ts';
import type { Aggregation } from '../aggregation/aggregation.ts';
import { type EmptyingDeps, emptyExtensions } from '../aggregation/empty-namespace.ts';
import { askExtension, type ExtensionDeps, extensionFlow } from '../aggregation/extension-server.ts';
import { decodeStrictly } from '../registry/decode.ts';
import type { KindStore } from '../registry/kind-store.ts';
import type { CallContext } from '../verbs/call-context.ts';
import type { Reply } from '../verbs/prepared-call.ts';
import type { CallPipeline } from './call-pipeline.ts';
import { serviceDefinition } from './definitions.ts';

export const EXTENSIONS_SERVICE = 'berth.server.v1.Extensions';

export interface ExtensionsServiceDeps {
  readonly aggregation: Pick<Aggregation, 'groups' | 'deps'>;
  readonly namespaces: KindStore;
}

/** Work on objects of extension servers that the controllers leave to the API server, which alone reaches them. */
export function extensionsService(deps: ExtensionsServiceDeps, pipeline: CallPipeline) {
  return {
    definition: serviceDefinition(EXTENSIONS_SERVICE),
    implementation: {
      EmptyNamespace: pipeline.unary((bytes, call) => {
        const request = decodeStrictly<EmptyNamespaceRequest>('berth.server.v1.EmptyNamespaceRequest', bytes, 'request');
        const { namespace = '' } = request;
        if (namespace === '') throw badRequest('name a namespace');
        call.authorize({ verb: 'update-finalize', kind: 'Namespace', namespace: '', name: namespace });
        return { run: () => emptyNamespace(deps, namespace, call) };
      }),
    },
  };
}

const askerOf =
  (deps: ExtensionDeps, signal: AbortSignal): EmptyingDeps['ask'] =>
  (remote, question) =>
    askExtension(remote, question, deps, { flow: extensionFlow, signal });

/** Extension servers are asked as the server itself, which may do everything: so only where all has to go anyway. */
async function emptyNamespace(
  { aggregation: { groups, deps }, namespaces }: ExtensionsServiceDeps,
  name: string,
  { signal }: CallContext,
): Promise<Reply> {
  const subject = namespaces.subject({ namespace: '', name });
  const entry = await namespaces.read({ namespace: '', name });
  if (!entry) throw notFound(subject);
  const { metadata } = namespaces.cache.decoder.decode(entry) as Namespace;
  if (!metadata?.deletionTimestamp)
    throw failedPrecondition('BadRequest', `namespace "${name}" is not being deleted: its objects stay`, subject);
  const response = deps ? await emptyExtensions(name, { groups, ask: askerOf(deps, signal), signal }) : {};
  return { bytes: encodeMessage('berth.server.v1.EmptyNamespaceResponse', response) };
}
