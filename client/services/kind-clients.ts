import { isCustom } from '../../api/kinds/custom/custom-kind.ts';
import type { KindMap, KindName } from '../../api/kinds/index.ts';
import { kindNamed, kinds } from '../../api/kinds/index.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import type { Connection } from '../connection/connection.ts';
import { createGenericClient } from './generic-client.ts';
import { createKindClient } from './kind-client.ts';
import { createNamespaceClient, type NamespaceClient } from './namespace-client.ts';
import { createPodClient, type PodClient } from './pod-client.ts';
import type { ResourceClient, ScalableClient } from './resource-client.ts';
import { createScalableClient } from './scalable-client.ts';
import { createServiceAccountClient, type ServiceAccountClient } from './service-account-client.ts';

/** Kinds with calls of their own besides the standard verbs. */
interface SpecialClients {
  readonly Pod: PodClient;
  readonly Namespace: NamespaceClient;
  readonly ServiceAccount: ServiceAccountClient;
}

/** Kinds with `scale` in their descriptor. */
type ScalableKind = 'Deployment' | 'ReplicaSet' | 'StatefulSet' | 'ReplicationController';

type Plural<Name extends string> = Name extends `${string}ss`
  ? `${Name}es`
  : Name extends `${string}s`
    ? Name
    : Name extends `${string}${'a' | 'e' | 'o' | 'u'}y`
      ? `${Name}s`
      : Name extends `${infer Stem}y`
        ? `${Stem}ies`
        : `${Name}s`;

/** A client of each kind, by its plural: `configMaps`, `storageClasses`. */
export type KindClients = {
  readonly [Name in KindName as Uncapitalize<Plural<Name>>]: Name extends keyof SpecialClients
    ? SpecialClients[Name]
    : Name extends ScalableKind
      ? ScalableClient<KindMap[Name]>
      : ResourceClient<KindMap[Name]>;
};

/** The property of a kind's client: the plural with its capitals, e.g. "configMaps". */
export function clientPropertyOf(name: string): string {
  const plural = /ss$/.test(name)
    ? `${name}es`
    : /s$/.test(name)
      ? name
      : /[^aeou]y$/.test(name)
        ? name.replace(/y$/, 'ies')
        : `${name}s`;
  return plural.charAt(0).toLowerCase() + plural.slice(1);
}

/** The client of a kind: one with a scale where the kind has that. */
export function createStandardClient(connection: Connection, kind: Kind): ResourceClient<ApiObject> {
  if (isCustom(kind) || kind.conversion) return createGenericClient(connection, kind);
  return kind.scale ? createScalableClient(connection, kind) : createKindClient(connection, kind);
}

export function createKindClients(connection: Connection): KindClients {
  const special: SpecialClients = {
    Pod: createPodClient(connection, kindNamed('Pod')),
    Namespace: createNamespaceClient(connection, kindNamed('Namespace')),
    ServiceAccount: createServiceAccountClient(connection, kindNamed('ServiceAccount')),
  };
  const clients = kinds.map((kind) => [
    clientPropertyOf(kind.kind),
    special[kind.kind as keyof SpecialClients] ?? createStandardClient(connection, kind),
  ]);
  return Object.fromEntries(clients) as KindClients;
}
