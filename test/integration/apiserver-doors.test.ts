import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, credentials, loadPackageDefinition, Metadata, type ServiceError } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import protobuf from 'protobufjs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import 'protobufjs/ext/descriptor/index.js';
import { issueNodeCredentials } from '../../apiserver/main.ts';
import { createAuthority } from '../../apiserver/pki/certificates.ts';
import { connect } from '../../client/index.ts';
import { type RunningServer, readPair, startServer } from './apiserver-harness.ts';

let server: RunningServer;
const pass = (bytes: Buffer): Buffer => bytes;
beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

function rawClient(ca = server.info.ca): Client {
  return new Client(server.info.address, credentials.createSsl(Buffer.from(ca)));
}

/** One unary call with bytes as they are. */
function call(client: Client, path: string, bytes: Buffer, metadata = new Metadata()): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, pass, pass, bytes, metadata, (error: ServiceError | null, value?: Buffer) => {
      if (error) reject(error);
      else resolve(value!);
    });
  });
}

async function adminToken(): Promise<string> {
  return (await readFile(join(server.dataDir, 'pki', 'admin.token'), 'utf8')).trim();
}

function bearer(token: string): Metadata {
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${token}`);
  return metadata;
}

test('one port takes client certificates and bearer tokens, and no caller without either', async () => {
  const { address, ca } = server.info;
  expect((await server.client.namespaces.get({ name: 'default' })).metadata?.name).toBe('default');
  const byToken = connect({ address, ca, token: await adminToken() });
  expect((await byToken.namespaces.get({ name: 'default' })).metadata?.name).toBe('default');
  byToken.close();
  const wrong = connect({ address, ca, token: 'wrong' });
  await expect(wrong.namespaces.get({ name: 'default' })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  wrong.close();
  const nobody = connect({ address, ca });
  await expect(nobody.namespaces.get({ name: 'default' })).rejects.toMatchObject({
    code: 'UNAUTHENTICATED',
    message: expect.stringContaining('client certificate'),
  });
  nobody.close();
});

test('on one connection every call is judged by the token that it brings itself', async () => {
  const client = rawClient();
  const get = (metadata?: Metadata) => call(client, '/berth.meta.v1.Objects/Kinds', Buffer.alloc(0), metadata);
  const good = bearer(await adminToken());
  for (let round = 0; round < 2; round++) {
    expect((await get(good)).length).toBeGreaterThan(0);
    await expect(get(bearer('wrong'))).rejects.toMatchObject({ code: 16 });
    await expect(get()).rejects.toMatchObject({ code: 16 });
  }
  client.close();
});

test('a certificate of another authority is refused, and a client that trusts another authority does not connect', async () => {
  const other = await createAuthority('other', new Date());
  const stranger = connect({ address: server.info.address, ca: server.info.ca, cert: other.certificate, key: other.key });
  await expect(stranger.namespaces.get({ name: 'default' })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  stranger.close();
  const distrusting = connect({ ...server.admin, ca: other.certificate });
  await expect(distrusting.namespaces.get({ name: 'default' }, { timeoutMs: 3_000 })).rejects.toMatchObject({
    code: 'UNAVAILABLE',
  });
  distrusting.close();
});

test('a node writes its own node and no other', async () => {
  await issueNodeCredentials(server.dataDir, 'n1');
  const node = connect({ ...server.admin, ...(await readPair(server.dataDir, 'node-n1')) });
  expect((await node.nodes.create({ metadata: { name: 'n1' } })).metadata?.name).toBe('n1');
  await expect(node.nodes.create({ metadata: { name: 'n2' } })).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  await expect(node.secrets.create({ metadata: { name: 's', namespace: 'default' } })).rejects.toMatchObject({
    code: 'PERMISSION_DENIED',
  });
  node.close();
});

test('keys are readable by their owner only, and a restart keeps certificates and tokens', async () => {
  const pki = join(server.dataDir, 'pki');
  expect((await stat(pki)).mode & 0o777).toBe(0o700);
  for (const name of ['ca.key', 'server.key', 'admin.key', 'admin.token', 'tokens'])
    expect((await stat(join(pki, name))).mode & 0o777).toBe(0o600);
  expect(await readFile(join(pki, 'tokens'), 'utf8')).not.toContain(await adminToken());
  const one = await startServer();
  const before = await readFile(join(one.dataDir, 'pki', 'server.crt'), 'utf8');
  await one.stop();
  const two = await startServer({ dataDir: one.dataDir });
  expect(await readFile(join(two.dataDir, 'pki', 'server.crt'), 'utf8')).toBe(before);
  await two.stop();
  const three = await startServer({ dataDir: one.dataDir, advertise: 'berth.example.com' });
  expect(await readFile(join(three.dataDir, 'pki', 'server.crt'), 'utf8')).not.toBe(before);
  await three.stop();
  await three.remove();
});

test('a node registers with its status; a status sent by a user who may not write it is dropped', async () => {
  await issueNodeCredentials(server.dataDir, 'registers');
  const node = connect({ ...server.admin, ...(await readPair(server.dataDir, 'node-registers')) });
  const status = { capacity: { cpu: { string: '4' } }, conditions: [{ type: 'Ready', status: 'True' }] };
  const made = await node.nodes.create({ metadata: { name: 'registers' }, status });
  expect(made.status).toMatchObject({ ...status, allocatable: status.capacity });
  expect((await server.client.nodes.get({ name: 'registers' })).status).toEqual(made.status);
  const twice = { ...status, conditions: [...status.conditions, { type: 'Ready', status: 'False' }] };
  const kept = await server.client.nodes.create({ metadata: { name: 'twice' }, status: twice });
  expect(kept.status?.conditions).toMatchObject(twice.conditions);
  const rules = [{ apiGroups: [''], resources: ['nodes'], verbs: ['create'] }];
  await server.client.clusterRoles.create({ metadata: { name: 'node-maker' }, rules });
  await server.client.clusterRoleBindings.create({
    metadata: { name: 'node-maker' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'node-maker' },
    subjects: [{ kind: 'User', name: 'maker' }],
  });
  const maker = connect({ ...server.admin, impersonate: { user: 'maker' } });
  expect((await maker.nodes.create({ metadata: { name: 'made' }, status })).status).toBeUndefined();
  node.close();
  maker.close();
});

test('health answers without credentials, reflection does not', async () => {
  const client = rawClient();
  const answer = await call(client, '/grpc.health.v1.Health/Check', Buffer.alloc(0));
  expect([...answer]).toEqual([8, 1]);
  await expect(reflect(new Metadata(), { list_services: '*' })).rejects.toMatchObject({ code: 16 });
  client.close();
});

interface ReflectionAnswer {
  list_services_response?: { service: { name: string }[] };
  file_descriptor_response?: { file_descriptor_proto: Buffer[] };
}

function reflect(metadata: Metadata, request: object): Promise<ReflectionAnswer> {
  const path = 'node_modules/@grpc/reflection/build/proto/grpc/reflection/v1/reflection.proto';
  const definition = loadPackageDefinition(loadSync(path, { keepCase: true, oneofs: true })) as never as {
    grpc: {
      reflection: {
        v1: {
          ServerReflection: new (
            ...input: unknown[]
          ) => Client & Record<string, (metadata: Metadata) => NodeJS.EventEmitter & { write(v: object): void; end(): void }>;
        };
      };
    };
  };
  const client = new definition.grpc.reflection.v1.ServerReflection(
    server.info.address,
    credentials.createSsl(Buffer.from(server.info.ca)),
  );
  return new Promise((resolve, reject) => {
    const stream = client.ServerReflectionInfo!(metadata);
    stream.on('data', (answer: ReflectionAnswer) => {
      stream.end();
      resolve(answer);
    });
    stream.on('error', reject);
    stream.on('end', () => client.close());
    stream.write(request);
  });
}

test('reflection lists every service, and its file descriptors rebuild the messages', async () => {
  const metadata = bearer(await adminToken());
  const { list_services_response: list } = await reflect(metadata, { list_services: '*' });
  const names = list!.service.map((each) => each.name);
  expect(names).toEqual(
    expect.arrayContaining(['berth.core.v1.Pods', 'berth.meta.v1.Objects', 'berth.node.v1.Tunnel', 'berth.core.v1.Secrets']),
  );
  const answer = await reflect(metadata, { file_containing_symbol: 'berth.core.v1.Pods' });
  const { FileDescriptorSet } = (await import('protobufjs/ext/descriptor/index.js')).default as never as {
    FileDescriptorSet: protobuf.Type;
  };
  const file = answer.file_descriptor_response!.file_descriptor_proto.map((bytes) =>
    Buffer.concat([Buffer.from([0x0a]), lengthOf(bytes), bytes]),
  );
  const set = FileDescriptorSet.decode(Buffer.concat(file));
  const root = (protobuf.Root as never as { fromDescriptor(set: unknown): protobuf.Root }).fromDescriptor(set).resolveAll();
  const pod = root.lookupType('berth.core.v1.Pod');
  expect(pod.fields.spec!.id).toBe(2);
  expect(root.lookupType('berth.core.v1.PodSpec').fields.nodeName!.id).toBe(10);
  expect(root.lookupService('berth.core.v1.Pods').methods.Watch!.responseStream).toBe(true);
});

interface FileDescriptor {
  name: string;
  dependency?: string[];
  package?: string;
  messageType?: { name: string; field?: { typeName?: string }[] }[];
}

test('reflection gives whole files, so that a generic tool resolves every import and every type', async () => {
  const metadata = bearer(await adminToken());
  const { FileDescriptorProto } = (await import('protobufjs/ext/descriptor/index.js')).default as never as {
    FileDescriptorProto: protobuf.Type;
  };
  const files = new Map<string, FileDescriptor>();
  const read = async (request: object): Promise<void> => {
    const answer = await reflect(metadata, request);
    const found = answer.file_descriptor_response!.file_descriptor_proto;
    const fresh = found.map((bytes) => FileDescriptorProto.toObject(FileDescriptorProto.decode(bytes)) as FileDescriptor);
    for (const file of fresh) files.set(file.name, file);
    for (const { dependency = [] } of fresh) {
      for (const name of dependency) if (!files.has(name)) await read({ file_by_filename: name });
    }
  };
  await read({ file_containing_symbol: 'berth.core.v1.Pods' });
  expect([...files.keys()]).toEqual(
    expect.arrayContaining(['berth/core/v1/pod.proto', 'berth/meta/v1/object_meta.proto', 'google/protobuf/timestamp.proto']),
  );
  const pod = files.get('berth/core/v1/pod.proto')!;
  expect(pod.dependency).toContain('berth/meta/v1/object_meta.proto');
  const types = pod.messageType!.flatMap(({ field = [] }) => field.flatMap(({ typeName }) => typeName ?? []));
  expect(types).toContain('.berth.meta.v1.ObjectMeta');
  const declared = [...files.values()].flatMap((file) => (file.messageType ?? []).map(({ name }) => `.${file.package}.${name}`));
  const topLevel = types.filter((type) => !type.endsWith('Entry'));
  expect(declared).toEqual(expect.arrayContaining(topLevel));
});

function lengthOf(bytes: Buffer): Buffer {
  const writer = protobuf.Writer.create().uint32(bytes.length);
  return Buffer.from(writer.finish());
}

test('damaged requests and unknown fields are invalid, never internal', async () => {
  const client = rawClient();
  const metadata = bearer(await adminToken());
  const samples = ['ff', '0aff', '0a0a', '08011001', '0a020a05', '9a01', '0a0632040a024100', '0a0412020801'].map((hex) =>
    Buffer.from(hex, 'hex'),
  );
  for (const method of ['Create', 'Get', 'List', 'Update', 'UpdateStatus', 'Patch', 'Delete', 'DeleteCollection', 'Bind']) {
    for (const bytes of samples) {
      const code = await call(client, `/berth.core.v1.Pods/${method}`, bytes, metadata).then(
        () => 0,
        (error: ServiceError) => error.code,
      );
      expect([0, 3, 5]).toContain(code);
    }
  }
  const unknown = await call(client, '/berth.core.v1.ConfigMaps/Create', Buffer.from('0a03f80101', 'hex'), metadata).catch(
    (error) => error,
  );
  expect(unknown.details).toContain('unknown field');
  client.close();
});

test('a node writes the status of its own pods only, and never their spec', async () => {
  const { key, certificate } = await issueNodeCredentials(server.dataDir, 'mine');
  const [cert, privateKey] = await Promise.all([readFile(certificate, 'utf8'), readFile(key, 'utf8')]);
  const node = connect({ ...server.admin, cert, key: privateKey });
  const container = { name: 'main', image: 'x' };
  for (const name of ['mine', 'other']) {
    await server.client.nodes.create({ metadata: { name } });
    await server.client.pods.create({
      metadata: { name, namespace: 'default' },
      spec: { nodeName: name, containers: [container] },
    });
  }
  const denied = { code: 'PERMISSION_DENIED' };
  const status = (name: string) =>
    node.pods.patch({ namespace: 'default', name, subresource: 'status' }, { status: { phase: 'Running' } });
  const theirs = await server.client.pods.get({ namespace: 'default', name: 'other' });
  await expect(node.pods.get({ namespace: 'default', name: 'other' })).rejects.toMatchObject(denied);
  expect((await status('mine')).status?.phase).toBe('Running');
  await expect(status('other')).rejects.toMatchObject(denied);
  await expect(node.pods.updateStatus(theirs)).rejects.toMatchObject(denied);
  // Labels say which pods others choose: a node cannot change them through the status.
  for (const metadata of [{ labels: { app: 'web' } }, { finalizers: ['example.com/a'] }]) {
    const target = { namespace: 'default', name: 'mine', subresource: 'status' };
    await expect(node.pods.patch(target, { metadata })).rejects.toMatchObject(denied);
  }
  await expect(node.pods.delete({ namespace: 'default', name: 'other' })).rejects.toMatchObject(denied);
  const spec = { spec: { containers: [{ ...container, image: 'y' }] } };
  await expect(node.pods.patch({ namespace: 'default', name: 'mine' }, spec)).rejects.toMatchObject(denied);
  await node.pods.delete({ namespace: 'default', name: 'mine' }, { gracePeriodSeconds: 0 });
  node.close();
});

test('a name that no object can have is not found, through whatever verb it comes', async () => {
  for (const name of ['a b', 'é', '\u0018', 'x'.repeat(2_000)]) {
    const key = { namespace: 'default', name };
    const missing = { code: 'NOT_FOUND', subject: { kind: 'ConfigMap' } };
    await expect(server.client.configMaps.get(key)).rejects.toMatchObject(missing);
    await expect(server.client.configMaps.delete(key)).rejects.toMatchObject(missing);
    await expect(server.client.configMaps.patch(key, { data: {} })).rejects.toMatchObject(missing);
    await expect(server.client.configMaps.update({ metadata: key })).rejects.toMatchObject(missing);
    await expect(server.client.pods.bind(key, 'n1')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  }
});

test('errors carry their reason, their subject and their violations as details', async () => {
  const error = await server.client.pods.get({ namespace: 'default', name: 'nope' }).catch((reason) => reason);
  expect(error).toMatchObject({
    code: 'NOT_FOUND',
    reason: 'NotFound',
    subject: { kind: 'Pod', namespace: 'default', name: 'nope' },
  });
  const many = {
    metadata: {
      name: 'x',
      namespace: 'default',
      labels: Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`-bad${i}`, '!'])),
    },
  };
  const invalid = await server.client.configMaps.create(many).catch((reason) => reason);
  expect(invalid.code).toBe('INVALID_ARGUMENT');
  expect(invalid.violations.length).toBeGreaterThan(12);
  expect(invalid.violations.at(-1).description).toMatch(/and \d+ more/);
});
