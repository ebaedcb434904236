import type { KindStore } from '../registry/kind-store.ts';
import type { CallContext } from '../verbs/call-context.ts';

/** Kinds without a version that would not be deprecated, by their ids, with what Kubernetes says with each answer. */
const texts: Readonly<Record<string, string>> = {
  Endpoints: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
};

/** Tells the caller that a kind is deprecated. Of deprecated versions of other kinds see versionWarnings. */
export function warnOfDeprecation({ id }: KindStore, call: Pick<CallContext, 'warn'>): void {
  if (Object.hasOwn(texts, id)) call.warn(texts[id]!);
}
