import { describe, expect, test } from 'vitest';
import { namesToAsk, parseResolvConf } from './host-lookup.ts';

/** What the kubelet writes for a pod. */
const POD = `search rollcall.svc.cluster.local svc.cluster.local cluster.local example.com
nameserver 10.96.0.10
options ndots:5
`;

describe('parseResolvConf', () => {
  test('reads the file of a pod', () => {
    expect(parseResolvConf(POD)).toEqual({
      nameservers: ['10.96.0.10'],
      search: ['rollcall.svc.cluster.local', 'svc.cluster.local', 'cluster.local', 'example.com'],
      ndots: 5,
      timeoutMs: 1000,
      attempts: 2,
    });
  });

  test('reads options, several servers, comments, and of several search lists the last', () => {
    const text = `# made by hand
domain example.org
search a.example  b.example ; not c
nameserver 192.0.2.1
nameserver fd00::10 # second
options timeout:3 attempts:4 rotate edns0
options ndots:2`;
    expect(parseResolvConf(text)).toEqual({
      nameservers: ['192.0.2.1', 'fd00::10'],
      search: ['a.example', 'b.example'],
      ndots: 2,
      timeoutMs: 3000,
      attempts: 4,
    });
  });

  test.each([
    ['nothing', ''],
    ['only keywords', 'nameserver\nsearch\noptions\n'],
    ['options that are none', 'options ndots:x timeout: attempts:-1\n'],
  ])('takes what is not told as the default: %s', (_, text) => {
    expect(parseResolvConf(text)).toEqual({ nameservers: [], search: [], ndots: 1, timeoutMs: 1000, attempts: 2 });
  });

  test('bounds what it is told, as glibc does', () => {
    expect(parseResolvConf('options ndots:99 timeout:999 attempts:999')).toMatchObject({
      ndots: 15,
      timeoutMs: 30_000,
      attempts: 5,
    });
  });
});

describe('namesToAsk', () => {
  const conf = parseResolvConf(POD);

  test('goes through the search list first while there are fewer dots than ndots', () => {
    expect(namesToAsk('rollcall-coordinator.rollcall.svc', conf)).toEqual([
      'rollcall-coordinator.rollcall.svc.rollcall.svc.cluster.local',
      'rollcall-coordinator.rollcall.svc.svc.cluster.local',
      'rollcall-coordinator.rollcall.svc.cluster.local',
      'rollcall-coordinator.rollcall.svc.example.com',
      'rollcall-coordinator.rollcall.svc',
    ]);
  });

  test('asks for a name with enough dots as it is first', () => {
    expect(namesToAsk('a.b', { search: ['x'], ndots: 1 })).toEqual(['a.b', 'a.b.x']);
    expect(namesToAsk('a', { search: ['x'], ndots: 0 })).toEqual(['a', 'a.x']);
  });

  test('asks for a name that ends with a dot as it is only', () => {
    expect(namesToAsk('rollcall.example.', conf)).toEqual(['rollcall.example']);
  });

  test('takes the root as a domain of the search list', () => {
    expect(namesToAsk('a.b', { search: ['.', 'x.'], ndots: 5 })).toEqual(['a.b', 'a.b.x']);
  });
});
