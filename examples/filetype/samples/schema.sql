CREATE TABLE station (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    latitude REAL NOT NULL,
    longitude REAL NOT NULL
);

CREATE TABLE reading (
    station_id INTEGER NOT NULL REFERENCES station(id) ON DELETE CASCADE,
    taken_at TEXT NOT NULL,
    level_m REAL,
    PRIMARY KEY (station_id, taken_at)
);

INSERT INTO station (name, latitude, longitude) VALUES ('North Quay', 53.55, 9.99), ('Old Lock', 53.87, 8.70);
SELECT s.name, AVG(r.level_m) FROM station s JOIN reading r ON r.station_id = s.id GROUP BY s.name ORDER BY 2 DESC;
