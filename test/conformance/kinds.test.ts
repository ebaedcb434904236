import { expect, test } from 'vitest';
import { fromJson, toJson } from '../../api/codec/json.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { codeOf, forEveryKind, labelled, servedKinds } from './every-kind.ts';

// The verbs, through the typed and the generic service. The kinds-*.test.ts beside this file hold one behaviour each.
forEveryKind((kind, subject) => {
  test('create, get, list, update, patch and delete through the typed service', async () => {
    const { typed, key, make, scope } = subject();
    const made = await make('typed');
    expect(made.metadata).toMatchObject({ ...key('typed'), uid: expect.any(String), resourceVersion: expect.any(String) });
    expect(await typed.get(key('typed'))).toEqual(made);
    expect((await typed.list(scope())).items).toContainEqual(made);
    const updated = await typed.update(labelled(made, 'updated'));
    expect(updated.metadata?.labels).toMatchObject({ 'example.com/step': 'updated' });
    expect(updated.metadata?.uid).toBe(made.metadata?.uid);
    await expect(typed.update(labelled(made, 'late'))).rejects.toMatchObject({ code: 'ABORTED' });
    const patched = await typed.patch(key('typed'), { metadata: { annotations: { 'example.com/a': '1' } } });
    expect(patched.metadata?.annotations).toMatchObject({ 'example.com/a': '1' });
    await typed.delete(key('typed'));
    await expect.poll(() => codeOf(typed.get(key('typed')))).toBe('NOT_FOUND');
  });

  test('the same through Objects, in JSON, with a table', async () => {
    const { client, key, json, scope } = subject();
    const { objects } = client;
    expect((await objects.kinds()).map((each) => each.kind)).toEqual(servedKinds.map((each) => each.kind));
    const made = await objects.create(kind.kind, json('generic'));
    expect(made).toMatchObject({ apiVersion: kind.apiVersion, kind: kind.kind });
    expect(await objects.get(kind.kind, key('generic'))).toEqual(made);
    expect((await objects.list(kind.kind, scope())).items).toContainEqual(made);
    const { table } = await objects.listTable(kind.kind, scope());
    expect(table.columns?.map((column) => column.name)).toEqual(kind.columns.map((column) => column.name));
    expect(table.rows?.find((row) => row.name === 'generic')?.cells).toHaveLength(kind.columns.length);
    const metadata = made.metadata as JsonObject;
    const updated = await objects.update(kind.kind, {
      ...made,
      metadata: { ...metadata, labels: { ...(metadata.labels as JsonObject), x: 'y' } },
    });
    expect((updated.metadata as JsonObject).labels).toMatchObject({ x: 'y', suite: 'kinds' });
    await objects.delete(kind.kind, key('generic'));
    await expect.poll(() => codeOf(objects.get(kind.kind, key('generic')))).toBe('NOT_FOUND');
  });

  test('its JSON form comes back unchanged', async () => {
    const { typed, key, make } = subject();
    const made = await make('round');
    expect(fromJson(kind, JSON.parse(JSON.stringify(toJson(kind, made))))).toEqual(made);
    await typed.delete(key('round'));
  });

  test('a watch sees it come, change and go', async () => {
    const { typed, key, make, scope } = subject();
    const stop = new AbortController();
    const seen: string[] = [];
    let started = (): void => {};
    const startedUp = new Promise<void>((resolve) => {
      started = resolve;
    });
    const watching = (async () => {
      for await (const events of typed.watch({ ...scope(), sendInitialEvents: true }, { signal: stop.signal })) {
        for (const { type, object } of events) {
          if (type === 'BOOKMARK') started();
          else if (object.metadata?.name === 'watched') seen.push(type);
        }
        if (seen.includes('DELETED')) return;
      }
    })();
    await startedUp;
    const made = await make('watched');
    await typed.update(labelled(made, 'changed'));
    await typed.delete(key('watched'));
    await watching;
    stop.abort();
    // Some kinds (Namespace) change once more on their way out.
    expect(seen.filter((type, i) => type !== seen[i - 1])).toEqual(['ADDED', 'MODIFIED', 'DELETED']);
  });

  test('fields that do not exist are refused with their path', async () => {
    const { client, json } = subject();
    const wrong = { ...json('wrong'), nonsense: 1 };
    await expect(client.objects.create(kind.kind, wrong)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      violations: [{ field: 'nonsense' }],
    });
  });

  test('the status is a subresource, where there is a status', async () => {
    const { typed, key, make, observation } = subject();
    const made = await make('status');
    const patching = typed.patch({ ...key('status'), subresource: 'status' }, { status: observation.status });
    if (kind.hasStatus) expect(toJson(kind, await patching).status).toMatchObject(observation.shown);
    else await expect(patching).rejects.toMatchObject({ code: 'UNIMPLEMENTED' });
    await typed.delete(key('status'), { preconditions: { uid: made.metadata!.uid } });
  });
});
