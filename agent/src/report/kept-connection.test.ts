import { expect, test } from 'vitest';
import { KeptConnection } from './coordinator-client.ts';

const A = 'https://a:8443';
const B = 'https://b:8443';

test('the agent stays the same for one origin and one CA', () => {
  const connection = new KeptConnection();
  expect(connection.agentFor(A, 'ca')).toBe(connection.agentFor(A, 'ca'));
});

test('another origin or another CA has another agent', () => {
  const connection = new KeptConnection();
  const first = connection.agentFor(A, 'ca');
  const second = connection.agentFor(B, 'ca');
  expect(second).not.toBe(first);
  expect(connection.agentFor(B, 'other ca')).not.toBe(second);
});

test('an agent that was closed does not serve again', () => {
  const connection = new KeptConnection();
  const closed = connection.agentFor(A, undefined);
  connection.close();
  expect(connection.agentFor(A, undefined)).not.toBe(closed);
});

test('the agent keeps one connection', () => {
  expect(new KeptConnection().agentFor('http://127.0.0.1:1', undefined)).toMatchObject({
    keepAlive: true,
    maxSockets: 1,
  });
});
