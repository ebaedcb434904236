import { expect, it } from 'vitest';
import { run } from '../installation.ts';
import type { Kubectl } from './session.ts';

/** Each generator of `create`, and `expose`, `run` and `autoscale`, which make objects too. */
export function creating(into: (namespace: string) => Promise<Kubectl>): void {
  it('create makes configuration and secrets', async () => {
    const k = await into('create-data');
    const file = k.file('files/greeting', 'hello\n');
    const env = k.file('settings.env', 'X=1\nY=2\n');
    expect(await k.ok('create configmap one --from-literal=a=1 --from-file', file)).toBe('configmap/one created\n');
    expect(await k.ok('create cm two --from-env-file', env)).toBe('configmap/two created\n');
    expect(await k.ok('create cm three --from-file', `other=${file}`)).toBe('configmap/three created\n');
    const data = '-o=jsonpath={range .items[*]}{.data}{"\\n"}{end}';
    expect(await k.ok('get configmap one two three', data)).toBe(
      '{"a":"1","greeting":"hello\\n"}\n{"X":"1","Y":"2"}\n{"other":"hello\\n"}\n',
    );
    expect(await k.ok('create secret generic token --from-literal=t=xyz --type=example.com/t')).toBe('secret/token created\n');
    const registry = '--docker-server=registry.test --docker-username=u --docker-password=p';
    expect(await k.ok(`create secret docker-registry pull ${registry}`)).toBe('secret/pull created\n');
    const [key, cert] = [k.file('tls.key', ''), k.file('tls.crt', '')];
    const made = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1', '-subj', '/CN=x'];
    await run('openssl', ['req', ...made, '-keyout', key, '-out', cert]);
    expect(await k.ok('create secret tls door --cert', cert, '--key', key)).toBe('secret/door created\n');
    expect(await k.ok('get secrets')).toMatch(
      /^NAME +TYPE +DATA +AGE\ndoor +kubernetes\.io\/tls +2 .*\npull +kubernetes\.io\/dockerconfigjson +1 .*\ntoken +example\.com\/t +1 .*\n$/,
    );
    expect(await k.ok('get secret token -o', 'go-template={{.data.t | base64decode}}')).toBe('xyz');
    expect(await k.ok('describe secret token')).toMatch(/\nt: +3 bytes\n/);
  });

  it('create makes services and ingresses', async () => {
    const k = await into('create-services');
    expect(await k.ok('create service clusterip inner --tcp=80:8080')).toBe('service/inner created\n');
    expect(await k.ok('create service clusterip headless --clusterip=None')).toBe('service/headless created\n');
    expect(await k.ok('create service nodeport outer --tcp=80:8080')).toBe('service/outer created\n');
    expect(await k.ok('create service loadbalancer balanced --tcp=443')).toBe('service/balanced created\n');
    expect(await k.ok('create service externalname elsewhere --external-name=example.com')).toBe('service/elsewhere created\n');
    const lines = (await k.ok('get services')).split('\n').map((line) =>
      line
        .replace(/10\.\d+\.\d+\.\d+/, 'IP')
        .split(/ {2,}/)
        .slice(0, 4),
    );
    expect(lines.slice(1, -1)).toEqual([
      ['balanced', 'LoadBalancer', 'IP', expect.stringMatching(/^<(pending|none)>$/)],
      ['elsewhere', 'ExternalName', '<none>', 'example.com'],
      ['headless', 'ClusterIP', 'None', '<none>'],
      ['inner', 'ClusterIP', 'IP', '<none>'],
      ['outer', 'NodePort', 'IP', '<none>'],
    ]);
    expect(await k.ok('get service outer -o', 'jsonpath={.spec.ports[0].nodePort}')).toMatch(/^3\d{4}$/);
    expect(await k.ok('create ingress door --class=none', '--rule=example.com/x*=inner:80')).toBe(
      'ingress.networking.k8s.io/door created\n',
    );
    expect(await k.ok('get ingress')).toMatch(/^NAME +CLASS +HOSTS +ADDRESS +PORTS +AGE\ndoor +none +example\.com +80 +/);
    expect(await k.ok('describe ingress door')).toMatch(/example\.com *\n +\/x +inner:80 /);
  });

  it('create makes roles, bindings, accounts, quotas, budgets and priorities', async () => {
    const k = await into('create-policies');
    expect(await k.ok('create serviceaccount builder')).toBe('serviceaccount/builder created\n');
    expect(await k.ok('create role read --verb=get,list --resource=pods,deployments.apps')).toBe(
      'role.rbac.authorization.k8s.io/read created\n',
    );
    expect(await k.ok('create rolebinding read --role=read --serviceaccount=create-policies:builder')).toBe(
      'rolebinding.rbac.authorization.k8s.io/read created\n',
    );
    expect(await k.ok('create clusterrole kubectl-paths --verb=get --non-resource-url=/paths')).toBe(
      'clusterrole.rbac.authorization.k8s.io/kubectl-paths created\n',
    );
    expect(await k.ok('create clusterrole kubectl-all --aggregation-rule=collect=kubectl')).toMatch(/kubectl-all created\n/);
    expect(await k.ok('create clusterrolebinding kubectl-paths --clusterrole=kubectl-paths --group=team')).toBe(
      'clusterrolebinding.rbac.authorization.k8s.io/kubectl-paths created\n',
    );
    expect(await k.ok('describe role read')).toMatch(/deployments\.apps +\[\] +\[\] +\[get list\]\n/);
    expect(await k.ok('get clusterrolebinding kubectl-paths -o wide')).toMatch(/ClusterRole\/kubectl-paths .*team/);
    expect(await k.ok('create quota most --hard=pods=10,configmaps=3')).toBe('resourcequota/most created\n');
    await k.ok('wait resourcequota/most --timeout=60s --for', 'jsonpath={.status.hard.pods}=10').catch((error) => {
      if (k.minor >= 23) throw error;
    });
    await k.ok('create configmap one');
    await k.ok('create configmap two');
    expect(await k.fails('create configmap three')).toMatch(
      /configmaps "three" is forbidden: exceeded quota: most, requested: configmaps=1, used: configmaps=3, limited: configmaps=3/,
    );
    // What is used is written into the status behind the creates that it counts.
    await expect.poll(() => k.ok('describe quota most'), { timeout: 30_000 }).toMatch(/\nconfigmaps +3 +3\npods +0 +10\n/);
    expect(await k.ok('create poddisruptionbudget most --selector=app=web --min-available=50%')).toBe(
      'poddisruptionbudget.policy/most created\n',
    );
    expect(await k.ok('get pdb')).toMatch(
      /^NAME +MIN AVAILABLE +MAX UNAVAILABLE +ALLOWED DISRUPTIONS +AGE\nmost +50% +N\/A +0 +/,
    );
    expect(await k.ok('create priorityclass kubectl-high --value=1000 --description=high')).toBe(
      'priorityclass.scheduling.k8s.io/kubectl-high created\n',
    );
    expect(await k.ok('get priorityclass kubectl-high')).toMatch(/\nkubectl-high +1000 +false +/);
    await k.ok(
      'delete priorityclass/kubectl-high clusterrole/kubectl-paths clusterrole/kubectl-all clusterrolebinding/kubectl-paths',
    );
    if (k.minor >= 24) {
      const token = (await k.ok('create token builder --duration=1h')).trim();
      expect(await k.ok('auth can-i list deployments.apps --token', token)).toMatch(/^yes\n/);
    }
  });

  it('create and expose make workloads that run', async () => {
    const k = await into('create-workloads');
    const sleep = ['--', 'sh', '-c', 'trap exit TERM; echo up; sleep 3600 & wait'];
    expect(await k.ok('create deployment web --image=berth/busybox --replicas=2 --port=80', ...sleep)).toBe(
      'deployment.apps/web created\n',
    );
    expect(await k.ok('create job once --image=berth/busybox', '--', 'echo', 'done')).toBe('job.batch/once created\n');
    expect(await k.ok('create cronjob often --image=berth/busybox', '--schedule=0 0 1 1 *', '--', 'echo', 'again')).toBe(
      'cronjob.batch/often created\n',
    );
    expect(await k.ok(`create job now --from=${k.minor >= 21 ? 'cronjob' : 'cronjob.v1beta1.batch'}/often`)).toBe(
      'job.batch/now created\n',
    );
    expect(await k.ok('wait --for=condition=complete job/once job/now --timeout=120s')).toBe(
      'job.batch/once condition met\njob.batch/now condition met\n',
    );
    expect(await k.ok('wait --for=condition=available deploy/web --timeout=120s')).toBe('deployment.apps/web condition met\n');
    expect(await k.ok('logs job/now')).toBe('again\n');
    expect(await k.ok('get cronjobs')).toMatch(/\noften +0 0 1 1 \* +(<none> +)?False +0 +<none> +/);
    expect(await k.ok('get jobs')).toMatch(/\nonce +(Complete +)?1\/1 +\d+s +\d+s\n/);
    expect(await k.ok('expose deployment web --target-port=8080 --name=front')).toBe('service/front exposed\n');
    expect(
      await k.ok('get service front -o', 'jsonpath={.spec.ports[0].port}>{.spec.ports[0].targetPort} {.spec.selector}'),
    ).toBe('80>8080 {"app":"web"}');
    expect(await k.ok('expose service front --port=81 --type=NodePort --name=again')).toBe('service/again exposed\n');
    expect(await k.ok('autoscale deployment web --min=1 --max=3 --cpu-percent=50')).toBe(
      'horizontalpodautoscaler.autoscaling/web autoscaled\n',
    );
    expect(await k.ok('get hpa web')).toMatch(/\nweb +Deployment\/web +(cpu: )?<unknown>\/50% +1 +3 +\d +/);
    expect(await k.ok('describe hpa web')).toMatch(/^Name: +web\n(.|\n)*Reference: +Deployment\/web\n/);
    const all = await k.ok('get all -o name');
    for (const name of [
      'pod/web-',
      'service/front',
      'deployment.apps/web',
      'replicaset.apps/web-',
      'cronjob.batch/often',
      'job.batch/once',
    ]) {
      expect(all).toContain(name);
    }
    expect(await k.ok('delete hpa,deployment --all')).toMatch(/"web" deleted/);
  });
}
