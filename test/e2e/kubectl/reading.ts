import { expect, it } from 'vitest';
import { type Kubectl, notFound } from './session.ts';

const pod = (name: string, order: number, tier: string): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { tier, order: String(order) } },
  spec: {
    nodeSelector: { nowhere: 'true' },
    priority: 0,
    containers: [{ name: 'main', image: 'berth/busybox', resources: { requests: { cpu: `${order * 10}m` } } }],
  },
});
const listOf = (...items: object[]): string => JSON.stringify({ apiVersion: 'v1', kind: 'List', items });

/** `get` in all of its forms, and what else only reads. */
export function reading(into: (namespace: string) => Promise<Kubectl>): void {
  it('get prints objects in each form', async () => {
    const k = await into('get-forms');
    await k.pipe(listOf(pod('a', 3, 'front'), pod('b', 1, 'back'), pod('c', 2, 'back')), 'create -f -');
    expect(await k.ok('get pods')).toMatch(/^NAME +READY +STATUS +RESTARTS +AGE\na +0\/1 +Pending +0 +\d+s\nb .*\nc .*\n$/);
    expect(await k.ok('get pods --no-headers')).toMatch(/^a .*\nb .*\nc .*\n$/);
    expect(await k.ok('get pod a -o wide')).toMatch(/NOMINATED NODE +READINESS GATES\na .*<none> +<none> +<none> +<none>\n$/);
    expect(await k.ok('get po -o name')).toBe('pod/a\npod/b\npod/c\n');
    expect(JSON.parse(await k.ok('get pod/a -o json'))).toMatchObject({ kind: 'Pod', metadata: { name: 'a' } });
    expect(JSON.parse(await k.ok('get pods -o json')).items).toHaveLength(3);
    expect(await k.ok('get pod a -o yaml')).toMatch(/^apiVersion: v1\nkind: Pod\nmetadata:\n(.|\n)*\n {2}name: a\n/);
    const sorted = '-o=jsonpath={range .items[*]}{.metadata.name}={.metadata.labels.tier}{"\\n"}{end}';
    expect(await k.ok('get pods --sort-by=.metadata.labels.order', sorted)).toBe('b=back\nc=back\na=front\n');
    expect(await k.ok('get pods', "-o=jsonpath={.items[?(@.metadata.labels.tier=='front')].metadata.name}")).toBe('a');
    const columns = '-o=custom-columns=NAME:.metadata.name,CPU:.spec.containers[*].resources.requests.cpu';
    expect(await k.ok('get pods', columns)).toBe('NAME   CPU\na      30m\nb      10m\nc      20m\n');
    const template = '-o=go-template={{range .items}}{{.metadata.name}} {{end}}';
    expect(await k.ok('get pods', template)).toBe('a b c ');
    expect(await k.ok('get pods -L tier')).toMatch(/AGE +TIER\na .* front\n/);
    expect(await k.ok('get pod b --show-labels')).toMatch(/LABELS\nb .* order=1,tier=back\n/);
    expect(await k.ok('get pods --show-kind -o wide --no-headers')).toMatch(/^pod\/a /);
    expect(await k.ok('get pods --chunk-size=1 -o name')).toBe('pod/a\npod/b\npod/c\n');
  });

  it('get selects by labels, fields and names, and says what is not there', async () => {
    const k = await into('get-selection');
    await k.pipe(listOf(pod('a', 3, 'front'), pod('b', 1, 'back'), pod('c', 2, 'back')), 'create -f -');
    expect(await k.ok('get pods -o name -l tier=back')).toBe('pod/b\npod/c\n');
    expect(await k.ok('get pods -o name -l', 'tier in (front,back),order!=1')).toBe('pod/a\npod/c\n');
    expect(await k.ok('get pods -o name -l', 'order notin (1,2), tier')).toBe('pod/a\n');
    expect(await k.ok('get pods -o name --field-selector metadata.name=b')).toBe('pod/b\n');
    expect(await k.ok('get pods -o name --field-selector status.phase=Pending,metadata.name!=a')).toBe('pod/b\npod/c\n');
    expect(await k.ok('get pods -o name --field-selector status.phase=Running')).toBe('');
    expect(await k.fails('get pods --field-selector spec.hostname=x')).toMatch(/"?spec\.hostname"?/);
    expect(await k.ok('get pod/a configmap/kube-root-ca.crt -o name')).toBe('pod/a\nconfigmap/kube-root-ca.crt\n');
    expect(await k.ok('get pods,serviceaccounts -o name')).toBe('pod/a\npod/b\npod/c\nserviceaccount/default\n');
    expect(await k.ok('get pods -A --field-selector', `metadata.namespace=${k.namespace}`)).toMatch(
      /^NAMESPACE +NAME .*\nget-selection +a /,
    );
    expect(await k.fails('get pod nothing')).toMatch(notFound('nothing'));
    expect(await k.run('get pod nothing --ignore-not-found')).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(await k.fails('get nothings')).toBe('error: the server doesn\'t have a resource type "nothings"\n');
    const none = await k.run('get secrets');
    expect(none).toEqual({ code: 0, stdout: '', stderr: 'No resources found in get-selection namespace.\n' });
  });

  it('get --watch shows what changes as it changes', async () => {
    const k = await into('get-watch');
    const maps = k.start('get configmaps --watch -o name --field-selector metadata.name!=kube-root-ca.crt');
    const events = k.start(
      'get configmaps --watch-only --output-watch-events -v=6 -o',
      'jsonpath={.type}{" "}{.object.metadata.name}{"\\n"}',
    );
    try {
      // Only what comes after the watch has begun.
      await events.until(/watch=true.*200 OK/);
      await k.ok('create configmap first');
      await maps.until('configmap/first\n');
      await events.until('ADDED first\n');
      await k.ok('create configmap watched --from-literal=a=b');
      const late = k.start('get configmap watched --watch');
      await late.until(/^NAME +DATA +AGE\nwatched +1 /);
      await k.ok('delete configmap first');
      await events.until('DELETED first\n');
      await k.ok('patch configmap watched -p', '{"data":{"c":"d"}}');
      await late.until(/\nwatched +2 /);
      await late.stop();
    } finally {
      for (const each of [maps, events]) await each.stop();
    }
  });

  it('get --raw reads and create, replace and delete --raw write by paths', async () => {
    const k = await into('raw');
    const path = `/api/v1/namespaces/${k.namespace}/configmaps`;
    const made = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'm' }, data: { a: 'b' } };
    const stored = JSON.parse(await k.pipe(JSON.stringify(made), `create --raw ${path} -f -`));
    expect(stored).toMatchObject(made);
    expect(JSON.parse(await k.ok(`get --raw ${path}/m`))).toEqual(stored);
    const changed = { ...stored, data: { a: 'c' } };
    expect(JSON.parse(await k.pipe(JSON.stringify(changed), `replace --raw ${path}/m -f -`)).data).toEqual({ a: 'c' });
    expect(JSON.parse(await k.ok(`delete --raw ${path}/m`))).toMatchObject({ kind: 'Status', status: 'Success' });
    expect(await k.fails(`get --raw ${path}/m`)).toMatch(notFound('m'));
    expect(await k.ok('get --raw /healthz')).toBe('ok');
    expect(await k.ok('get --raw /readyz?verbose')).toMatch(/readyz check passed\n$/);
    expect(JSON.parse(await k.ok('get --raw /version'))).toMatchObject({
      major: '1',
      gitVersion: expect.stringMatching(/^v1\.\d+\.\d+\+berth/),
    });
    expect(await k.ok('get --raw /metrics')).toMatch(/^# HELP /m);
  });

  it('describe and events tell of an object what happened to it', async () => {
    const k = await into('describe');
    await k.pipe(listOf(pod('lost', 1, 'front')), 'create -f -');
    const told = k.start('get events --watch');
    await told.until(/Warning +FailedScheduling +pod\/lost +/);
    await told.stop();
    const described = await k.ok('describe pod lost');
    expect(described).toMatch(/^Name: +lost\nNamespace: +describe\n/);
    expect(described).toMatch(/Node-Selectors: +nowhere=true\n/);
    expect(described).toMatch(/Events:\n(.*\n)+.*Warning +FailedScheduling /);
    expect(await k.ok('describe pods -l tier=back')).toBe('');
    expect(
      await k.ok('get events --field-selector', 'involvedObject.name=lost,type=Warning', '-o', 'jsonpath={.items[0].reason}'),
    ).toBe('FailedScheduling');
    expect(await k.ok('get events --sort-by=.metadata.creationTimestamp -o name')).toMatch(/^event\/lost\./);
    const kinds = 'configmap,secret,serviceaccount,service,role,resourcequota,limitrange,endpoints,networkpolicy,ingress';
    expect(await k.ok(`describe ${kinds}`)).toMatch(/Name: +kube-root-ca\.crt\n/);
    expect(await k.ok(`describe namespace ${k.namespace}`)).toMatch(/^Name: +describe\n(.|\n)*Status: +Active\n/);
    expect(await k.ok(`describe node ${k.nodeName}`)).toMatch(/^Name: +(.|\n)*Capacity:\n(.|\n)*Allocated resources:\n/);
    if (k.minor >= 26) expect(await k.ok('events --for pod/lost')).toMatch(/Warning +FailedScheduling +Pod\/lost +/);
  });

  it('explain names the fields of kinds, with what they mean', async () => {
    const k = await into('explain');
    const kind = await k.ok('explain pods');
    expect(kind).toMatch(/KIND: +Pod\nVERSION: +v1\n/);
    expect(kind).toMatch(/\n +spec\t ?<(Object|PodSpec)>/);
    expect(await k.ok('explain deployment.spec.strategy.rollingUpdate')).toMatch(/maxSurge\t ?<(string|IntOrString)>/);
    expect(await k.ok('explain pod.spec.containers --recursive')).toMatch(/\n +livenessProbe\t ?<(Object|Probe)>\n +exec\t/);
    expect(await k.ok('explain hpa --api-version=autoscaling/v1')).toMatch(/VERSION: +(autoscaling\/)?v1\n/);
    expect(await k.fails('explain pod.spec.nothing')).toContain('field "nothing" does not exist');
  });
}
