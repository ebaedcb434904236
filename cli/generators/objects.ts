import { badRequest } from '../../api/errors/index.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { type DataFlags, read, readData } from './data.ts';

// What `create NOUN` makes, in JSON form.

export { ingressObject } from './ingress.ts';
export { budgetObject, priorityClassObject } from './priority.ts';
export { quotaObject } from './quota.ts';
export { clusterRoleBindingObject, clusterRoleObject, roleBindingObject, roleObject } from './rbac.ts';
export { serviceObject } from './service.ts';
export { cronJobObject, deploymentObject } from './workloads.ts';

export function namespaceObject(name: string): JsonObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
}

export function serviceAccountObject(name: string): JsonObject {
  return { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } };
}

/** Text goes to `data`, what is no UTF-8 to `binaryData`. */
export function configMapObject(name: string, flags: DataFlags & { readonly immutable?: boolean }): JsonObject {
  const data: JsonObject = {};
  const binaryData: JsonObject = {};
  for (const [key, bytes] of readData(flags)) {
    const text = bytes.toString('utf8');
    if (Buffer.from(text).equals(bytes)) data[key] = text;
    else binaryData[key] = bytes.toString('base64');
  }
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name },
    ...(Object.keys(data).length > 0 && { data }),
    ...(Object.keys(binaryData).length > 0 && { binaryData }),
    ...(flags.immutable && { immutable: true }),
  };
}

export function genericSecret(name: string, flags: DataFlags & { readonly type?: string }): JsonObject {
  return secret(name, flags.type ?? 'Opaque', readData(flags));
}

export interface TlsFlags {
  readonly cert: string;
  readonly key: string;
}

export function tlsSecret(name: string, { cert, key }: TlsFlags): JsonObject {
  const data = new Map([
    ['tls.crt', read(cert)],
    ['tls.key', read(key)],
  ]);
  for (const [at, bytes] of data)
    if (!bytes.includes('-----BEGIN ')) throw badRequest(`${at === 'tls.crt' ? cert : key} is not in PEM form`);
  return secret(name, 'kubernetes.io/tls', data);
}

export interface RegistryFlags {
  readonly dockerServer: string;
  readonly dockerUsername?: string;
  readonly dockerPassword?: string;
  readonly dockerEmail?: string;
  readonly fromFile?: readonly string[];
}

/** The credentials of an image registry, as `docker login` keeps them. */
export function registrySecret(name: string, flags: RegistryFlags): JsonObject {
  const type = 'kubernetes.io/dockerconfigjson';
  const [file] = flags.fromFile ?? [];
  if (file !== undefined)
    return secret(name, type, new Map([['.dockerconfigjson', read(file.replace(/^\.dockerconfigjson=/, ''))]]));
  const { dockerServer, dockerUsername: username, dockerPassword: password, dockerEmail: email } = flags;
  if (!username || !password) throw badRequest('give --docker-username and --docker-password, or --from-file with a config.json');
  const auth = Buffer.from(`${username}:${password}`).toString('base64');
  const config = { auths: { [dockerServer]: { username, password, ...(email && { email }), auth } } };
  return secret(name, type, new Map([['.dockerconfigjson', Buffer.from(JSON.stringify(config))]]));
}

function secret(name: string, type: string, data: ReadonlyMap<string, Buffer>): JsonObject {
  const encoded = Object.fromEntries([...data].map(([key, bytes]) => [key, bytes.toString('base64')]));
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, type, ...(data.size > 0 && { data: encoded }) };
}
